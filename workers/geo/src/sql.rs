//! What an error of the database means for a task: whether another try can help.

use domain::failure::{Failure, FailureClass};
use sqlx::error::DatabaseError;
use sqlx::{Postgres, Transaction};

/// Says what was tried; the database says why not. For `map_err`.
pub(crate) fn failed(what: &'static str) -> impl Fn(sqlx::Error) -> Failure {
    move |error| failure(what, &error)
}

pub(crate) fn failure(what: &str, error: &sqlx::Error) -> Failure {
    let message = format!("{what}: {error}");
    let (class, code) = match error {
        sqlx::Error::Database(database) => of_database(database.as_ref()),
        sqlx::Error::Io(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => (FailureClass::Transient, "database_unavailable"),
        _ => (FailureClass::Permanent, "database_error"),
    };
    Failure::new(class, code, &message)
}

/// Ends a transaction as its work went. One that is only dropped is rolled back when its connection is used
/// next, and until then keeps the locks that others wait for.
pub(crate) async fn end<T>(
    tx: Transaction<'_, Postgres>,
    worked: Result<T, Failure>,
    what: &'static str,
) -> Result<T, Failure> {
    match worked {
        Ok(done) => tx.commit().await.map(|()| done).map_err(failed(what)),
        Err(failure) => {
            // The failure that led here says more; a lost connection rolls back by itself.
            let _ = tx.rollback().await;
            Err(failure)
        }
    }
}

/// The SQLSTATE of an error, if the server sent one.
pub(crate) fn state(error: &sqlx::Error) -> Option<String> {
    let sqlx::Error::Database(database) = error else {
        return None;
    };
    database.code().map(std::borrow::Cow::into_owned)
}

/// Whether someone else changed the same row of a catalog that all databases share, such as a role.
pub(crate) fn is_catalog_race(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(database) = error else {
        return false;
    };
    match database.code().as_deref() {
        Some("XX000") => database.message().starts_with("tuple concurrently"),
        Some("23505") => database
            .constraint()
            .is_some_and(|name| name.starts_with("pg_")),
        _ => false,
    }
}

fn of_database(error: &dyn DatabaseError) -> (FailureClass, &'static str) {
    let state = error.code().unwrap_or_default();
    match state.as_ref() {
        "57014" => (FailureClass::Timeout, "database_timeout"),
        // pgSTAC moves the check constraints of its partitions: a writer that does not take our lock can
        // meet one that is too narrow for a moment.
        "23514" if is_partition_check(error.constraint()) => {
            (FailureClass::Transient, "database_conflict")
        }
        "55P03" | "55006" => (FailureClass::Transient, "database_conflict"),
        // A server that is starting, stopping, or has become a standby.
        "57P01" | "57P02" | "57P03" | "57P05" | "25006" => {
            (FailureClass::Transient, "database_unavailable")
        }
        "XX000" if error.message().starts_with("tuple concurrently") => {
            (FailureClass::Transient, "database_conflict")
        }
        other => match other.get(..2) {
            Some("08" | "53" | "58") => (FailureClass::Transient, "database_unavailable"),
            Some("40") => (FailureClass::Transient, "database_conflict"),
            _ => (FailureClass::Permanent, "database_error"),
        },
    }
}

fn is_partition_check(constraint: Option<&str>) -> bool {
    constraint.is_some_and(|name| name.starts_with("_items_"))
}

#[cfg(test)]
mod tests {
    use domain::failure::FailureClass;

    use super::failure;

    #[test]
    fn a_lost_connection_may_pass_and_a_missing_row_does_not() {
        let lost = sqlx::Error::Io(std::io::Error::other("reset"));
        assert_eq!(failure("x", &lost).class, FailureClass::Transient);
        assert_eq!(
            failure("x", &sqlx::Error::PoolTimedOut).class,
            FailureClass::Transient
        );
        assert_eq!(
            failure("x", &sqlx::Error::RowNotFound).class,
            FailureClass::Permanent
        );
    }
}
