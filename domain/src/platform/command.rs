//! What can be asked of the platform registry.

/// A wish that [`decide`](super::decide()) grants or refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Makes a platform known, or changes what may change of it.
    Register {
        platform_id: String,
        /// What people call it.
        name: String,
        /// The refs that every asset of the platform has; they can never change.
        required_refs: Vec<String>,
        /// The refs that an asset may have besides.
        optional_refs: Vec<String>,
    },
    /// Says again what is known, so that older events can be archived.
    Carry,
}
