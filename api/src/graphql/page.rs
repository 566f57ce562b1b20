//! Pages of lists, in the way of Relay.

use async_graphql::connection::{Connection, Edge, EmptyFields};
use async_graphql::{ObjectType, OutputType};
use projections::read::Page;

use crate::error::Fault;

/// Rows of one page, at most.
pub(super) const PAGE_MAX: i32 = 200;
/// Rows of a page whose size nobody gave.
pub(super) const PAGE: i32 = 50;

/// A checked size of a page.
pub(super) fn size(first: Option<i32>) -> Result<i64, Fault> {
    match first.unwrap_or(PAGE) {
        n if (1..=PAGE_MAX).contains(&n) => Ok(n.into()),
        n => Err(Fault::invalid(
            "PAGE_SIZE",
            format!("a page has 1 to {PAGE_MAX} rows, not {n}"),
            "ask for a smaller page and follow endCursor",
        )),
    }
}

/// Nothing costs more.
const COST_MAX: usize = 1 << 40;

/// What the rows of a page cost. A size that is not allowed is refused later; here it must only not overflow.
pub(super) fn cost(first: Option<i32>, each: usize) -> usize {
    let rows = first.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let cost = usize::try_from(rows).unwrap_or(1).saturating_mul(each);
    // So much is refused in any case, and sums of it still fit.
    cost.min(COST_MAX)
}

/// A page with nothing besides its rows.
pub(super) fn connection<R, T: OutputType>(
    page: Page<R>,
    after: Option<&str>,
    cursor: impl Fn(&R) -> String,
    make: impl Fn(R) -> T,
) -> Connection<String, T> {
    with_fields(page, after, EmptyFields, cursor, make)
}

/// A page with more to say than its rows.
pub(super) fn with_fields<R, T: OutputType, F: ObjectType>(
    page: Page<R>,
    after: Option<&str>,
    fields: F,
    cursor: impl Fn(&R) -> String,
    make: impl Fn(R) -> T,
) -> Connection<String, T, F> {
    let more = page.next.is_some();
    let mut connection = Connection::with_additional_fields(after.is_some(), more, fields);
    connection.edges = page
        .items
        .into_iter()
        .map(|row| Edge::new(cursor(&row), make(row)))
        .collect();
    connection
}
