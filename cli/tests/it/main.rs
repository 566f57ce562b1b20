//! The commands as a person runs them: arguments in, exit code, stdout and stderr out.

// `cfg(test)` on each tells clippy that helpers in there may unwrap as well.
#[cfg(test)]
mod commands;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod run;
#[cfg(test)]
mod services;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod validate;
