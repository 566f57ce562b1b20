//! The rules of execution, as given-when-then.

mod control;
mod fan;
mod fork;
mod replay;
mod reports;
mod reuse;
mod rig;
mod routing;
mod timing;
mod transitions;
