//! Why a command on a callback is refused.

/// A refusal that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// Nothing has come of it yet, so there is nothing to repeat.
    #[error(
        "the callback is still on its way; it can be sent again once it was delivered or given up"
    )]
    OnItsWay,
    /// A sender that was away too long reports on an older round.
    #[error("round {given} of the callback is over; it is in round {current}")]
    RoundOver { given: u32, current: u32 },
    /// Another sender has delivered it meanwhile.
    #[error("the callback has been delivered; it cannot be given up any more")]
    Delivered,
}
