//! How many connections to the database a process takes at most (G-56). Workers take none.

use sqlx::PgPool;

/// Of the read models and of callbacks.
const PROJECTORS: u32 = projections::PROJECTOR_CONNECTIONS + projections::callbacks::CONNECTIONS;

/// Connections by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) appender: u32,
    pub(crate) readers: u32,
    pub(crate) projector: u32,
}

impl Budget {
    pub(crate) const ORCHESTRATOR: Self = Self {
        appender: 1,
        readers: 4,
        projector: 0,
    };
    pub(crate) const PROJECTOR: Self = Self {
        appender: 1,
        readers: 4,
        projector: PROJECTORS,
    };
    pub(crate) const API: Self = Self {
        appender: 1,
        readers: 10,
        projector: 0,
    };
    pub(crate) const UP: Self = Self {
        appender: 1,
        readers: 12,
        projector: PROJECTORS,
    };

    pub(crate) fn total(self) -> u32 {
        self.appender + self.readers + self.projector
    }

    /// Says at start what this process may take, and of how many.
    pub(crate) async fn announce(self, pool: &PgPool) {
        let most = projections::read::connections_max(pool).await.unwrap_or(0);
        let half = most / 2;
        let total = self.total();
        tracing::info!(
            connections_max = total,
            appender = self.appender,
            readers = self.readers,
            projector = self.projector,
            database_takes = most,
            safe_for_all_processes = half,
            "database connections: at most {total} for this process; all processes together should stay \
             within {half}"
        );
        if i32::try_from(total).unwrap_or(i32::MAX) > half {
            tracing::warn!(
                "this process alone may take more than half of the {most} connections of the database"
            );
        }
    }
}
