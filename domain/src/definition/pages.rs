//! The pages of `docs/errors`, carried in the binary so that `strata explain` can print them.

use super::code::Code;

/// The page of a code given as text, such as `WF0025`; `None` if there is no such code.
#[must_use]
pub fn error_page(code: &str) -> Option<&'static str> {
    Code::find(code).map(Code::page)
}
