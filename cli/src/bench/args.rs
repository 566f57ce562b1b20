//! What may be typed for `strata bench`.

use clap::Subcommand;

/// What to measure.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BenchCommand {
    /// Decisions per second and memory of one job, and folding of events
    Core,
    /// The appender against a raw insert of the same rows
    Append,
    /// Verifying the whole log against reading it in order
    Verify {
        /// Events in the log
        #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
        events: u32,
    },
    /// Jobs of one task, submitted in bulk and one by one
    Jobs {
        /// How many to submit in bulk
        #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        jobs: u32,
        /// Submit through the API, over HTTP
        #[arg(long)]
        api: bool,
    },
    /// 100 jobs of ten steps, one after another
    Chain {
        /// Submit through the API, over HTTP
        #[arg(long)]
        api: bool,
    },
    /// One job that fans out and joins
    Fanout {
        /// Children of the fan-out
        #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        items: u32,
        /// Submit through the API, over HTTP
        #[arg(long)]
        api: bool,
    },
    /// One job after another on an idle system
    Latency {
        /// Submit through the API, over HTTP
        #[arg(long)]
        api: bool,
    },
    /// A page of the list of jobs, and one job with 100 nodes, with 100,000 jobs in the read models
    Query,
    /// 1,000 sockets that watch 100 jobs while 500 events per second are written
    Subscribe,
    /// Small jobs alone, and beside one with very many children
    Giant {
        /// Children of the fan-out
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        items: u32,
    },
    /// Callbacks to a receiver on this machine
    Callbacks {
        /// How many, each of a job of its own
        #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        callbacks: u32,
    },
    /// Cancelling one job with very many children
    Cancel {
        /// Children of the fan-out
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        items: u32,
    },
    /// A rebuild of all read models, against reading the same events in order
    Rebuild {
        /// Events of the log
        #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10_000..=10_000_000))]
        events: u32,
    },
    /// One job shown at 50 positions over all of its life
    At {
        /// Events of the job
        #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1_000..=600_000))]
        events: u32,
    },
    /// A COG of 10,000 x 10,000 pixels, against `gdal_translate`
    Cog,
    /// A layer of 100,000 polygons into PostGIS, against `ogr2ogr`
    Vector,
    /// A cascade of a million H3 cells, against a bare COPY of the same rows
    H3,
}
