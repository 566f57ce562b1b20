//! The private PostgreSQL: made once, durable, and reachable only from this machine with a password.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Signal;
use std::os::unix::process::CommandExt;

use super::folder::Folder;
use super::process::{Ending, Spec};
use super::user::User;
use super::{Durability, Options, files, find, probe};
use crate::exit::Stop;

/// The superuser and the database.
const NAME: &str = "strata";
/// The longest path of a socket that the kernel takes.
const SOCKET_BYTES_MAX: usize = 107;
/// Where sockets go whose path would be too long.
const SHORT_FOLDER: &str = "/tmp";
const SHORT_NOTE: &str = "postgres.socket";
/// Where the database goes when its user cannot enter the data directory.
const ELSEWHERE: &str = "/var/lib/strata";
/// A fast shutdown writes a checkpoint.
const STOP_WAIT: Duration = Duration::from_secs(60);

/// A database that is ready to be started.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) spec: Spec,
    pub(crate) port: u16,
    /// The address of the database `strata`, and of the one that is always there.
    pub(crate) url: String,
    maintenance_url: String,
}

/// Where the database is: below the data directory, unless its user cannot enter that.
struct Home {
    path: PathBuf,
    user: Option<User>,
}

impl Postgres {
    pub(crate) fn ending(folder: &Folder) -> Ending {
        Ending {
            name: "postgres",
            pid_file: folder.file("postgres.pid"),
            gentle: (Signal::INT, STOP_WAIT),
            firm: Signal::QUIT,
            outside: Some(folder.file(SHORT_NOTE)),
        }
    }

    /// Makes the database if it is not there, and writes its settings.
    pub(crate) fn prepare(folder: &Folder, options: &Options) -> anyhow::Result<Self> {
        let home = Home::of(folder)?;
        let data = home.path.join("postgres");
        let found = find::postgres(Some(&data))?;
        let password_file = home.path.join("postgres.password");
        let password = files::password(&password_file)?;
        home.give(&password_file)?;
        if !data.join("PG_VERSION").exists() {
            tracing::info!(version = found.version, "making the database");
            home.initdb(&found.path, &data, &password_file, options.durability)?;
        }
        forget_stranger(&data);
        let port = folder.port("postgres.port")?;
        let sockets = home.sockets(folder, port)?;
        let conf = home.path.join("postgres.conf");
        files::write(&conf, settings(&sockets, port, options).as_bytes(), 0o600)?;
        home.give(&conf)?;

        let url =
            |database: &str| format!("postgres://{NAME}:{password}@127.0.0.1:{port}/{database}");
        let mut config_file = std::ffi::OsString::from("config_file=");
        config_file.push(&conf);
        let spec = Spec {
            program: found.path.join("postgres"),
            args: vec!["-D".into(), data.into(), "-c".into(), config_file],
            user: home.user,
            folder: home.path,
            log: folder.file("logs/postgres.log"),
            ending: Self::ending(folder),
        };
        Ok(Self {
            spec,
            port,
            url: url(NAME),
            maintenance_url: url("postgres"),
        })
    }

    /// Whether it answers; makes the database `strata` when it does for the first time.
    pub(crate) async fn look(&self) -> Result<(), probe::Silence> {
        probe::postgres(&self.maintenance_url).await?;
        let make = async {
            let mut connection = probe::connect(&self.maintenance_url).await?;
            let there = sqlx::query("select 1 from pg_database where datname = 'strata'")
                .fetch_optional(&mut connection)
                .await?;
            if there.is_none() {
                sqlx::query("create database strata")
                    .execute(&mut connection)
                    .await?;
            }
            sqlx::Connection::close(connection).await
        };
        make.await.map_err(|error: sqlx::Error| probe::Silence {
            why: format!("cannot make the database {NAME}: {error}"),
            starting: false,
        })?;
        probe::postgres(&self.url).await
    }
}

impl Home {
    fn of(folder: &Folder) -> anyhow::Result<Self> {
        let note = folder.file("postgres.home");
        let noted = fs::read_to_string(&note).ok();
        let has_data = noted.is_some() || folder.file("postgres").join("PG_VERSION").exists();
        let path = noted.map_or_else(|| folder.path.clone(), |text| text.trim().into());
        let user = User::to_drop_to(&path.join("postgres"))?;
        let Some((user, closed)) = user
            .as_ref()
            .and_then(|user| Some((user, user.stopped_at(&path)?)))
        else {
            return Ok(Self { path, user });
        };
        if has_data {
            // There is a log already. A new, empty one in its place would look like the loss of everything.
            let (name, path, closed) = (&user.name, path.display(), closed.display());
            let message = format!(
                "the database is in {path}, and its user {name} cannot get there: {closed} is closed or gone"
            );
            return Err(Stop::unreachable(
                message,
                format!(
                    "chmod o+x {closed}, or bring {path} back; to begin anew, give another --data-dir"
                ),
            ));
        }
        let path = Path::new(ELSEWHERE).join(files::random_hex(8)?);
        let make = || -> io::Result<()> {
            DirBuilder::new()
                .recursive(true)
                .mode(0o711)
                .create(&path)?;
            files::write(&note, path.as_os_str().as_bytes(), 0o644)
        };
        let stopped = user.stopped_at(Path::new("/var/lib"));
        if stopped.is_some() || make().is_err() {
            let message = format!(
                "root hands PostgreSQL to the user {}, who may not enter {}",
                user.name,
                closed.display()
            );
            return Err(Stop::unreachable(
                message,
                "give a --data-dir that every user can reach, or start Strata as an ordinary user",
            ));
        }
        tracing::warn!(
            user = user.name,
            closed = %closed.display(),
            folder = %path.display(),
            "the database is kept elsewhere, because its user may not enter the data directory"
        );
        let user = Some(user.clone());
        Ok(Self { path, user })
    }

    /// Gives a file to the database's user.
    fn give(&self, path: &Path) -> io::Result<()> {
        self.user.as_ref().map_or(Ok(()), |user| user.take(path))
    }

    /// Makes the files of the database, which appear complete or not at all.
    fn initdb(
        &self,
        programs: &Path,
        data: &Path,
        password_file: &Path,
        durability: Durability,
    ) -> anyhow::Result<()> {
        let fresh = self.path.join("postgres.new");
        if fresh.exists() {
            fs::remove_dir_all(&fresh)?;
        }
        DirBuilder::new().mode(0o700).create(&fresh)?;
        self.give(&fresh)?;
        let mut command = Command::new(programs.join("initdb"));
        command.args(["--username", NAME, "--encoding", "UTF8", "--locale", "C"]);
        command.args(["--auth", "scram-sha-256", "--data-checksums"]);
        if durability == Durability::Process {
            command.arg("--no-sync");
        }
        command.arg("--pwfile").arg(password_file);
        command.arg("--pgdata").arg(&fresh).current_dir(&self.path);
        if let Some(user) = &self.user {
            command.uid(user.uid).gid(user.gid);
        }
        // Ctrl-C is for us: a second's work is done, and then nothing more is begun.
        command.env("LC_ALL", "C").process_group(0);
        let output = command.output().context("cannot run initdb")?;
        if !output.status.success() {
            return Err(initdb_failed(&output));
        }
        fs::rename(&fresh, data)?;
        Ok(())
    }

    /// The folder of the socket: beside the database, unless the path would be too long.
    fn sockets(&self, folder: &Folder, port: u16) -> anyhow::Result<PathBuf> {
        let near = self.path.join("run");
        let socket = near.join(format!(".s.PGSQL.{port}"));
        let bytes = socket.as_os_str().as_bytes();
        // A comma or a quote would need quoting twice.
        let plain = !bytes.iter().any(|byte| b",\"'\\\n".contains(byte));
        if bytes.len() <= SOCKET_BYTES_MAX && plain {
            self.private_folder(&near)?;
            return Ok(near);
        }
        let note = folder.file(SHORT_NOTE);
        let kept = fs::read_to_string(&note).ok().map(PathBuf::from);
        let owner = self.user.as_ref().map(|user| user.uid);
        let owner = owner.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        // Somebody else could have made a folder of this name in the meantime.
        let ours = |path: &PathBuf| {
            let meta = fs::symlink_metadata(path);
            meta.is_ok_and(|meta| meta.is_dir() && meta.uid() == owner && meta.mode() & 0o77 == 0)
        };
        if let Some(kept) = kept.filter(ours) {
            return Ok(kept);
        }
        let short = Path::new(SHORT_FOLDER).join(format!("strata-{}", files::random_hex(8)?));
        DirBuilder::new().mode(0o700).create(&short)?;
        self.give(&short)?;
        files::write(&note, short.as_os_str().as_bytes(), 0o644)?;
        Ok(short)
    }

    fn private_folder(&self, path: &Path) -> io::Result<()> {
        if !path.exists() {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        self.give(path)
    }
}

/// Removes PostgreSQL's own pid file if its process is another one today, as happens after a restart
/// of a container; PostgreSQL would take it for a running server.
fn forget_stranger(data: &Path) {
    let file = data.join("postmaster.pid");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let pid = text.lines().next().unwrap_or_default().trim();
    // A server works in its data directory.
    let elsewhere = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder != data);
    if elsewhere {
        files::remove(&file);
    }
}

/// The whole configuration; what is not here has PostgreSQL's default.
fn settings(sockets: &Path, port: u16, options: &Options) -> String {
    // Without `fsync`, what was committed outlives a crash of PostgreSQL, and not one of the machine.
    let disk = match options.durability {
        Durability::Machine => "on",
        Durability::Process => "off",
    };
    let sockets = sockets.display();
    let connections = options.max_connections;
    // Pages of an index that is built are compressed into the WAL; what `on` stands for takes longer than the index.
    format!(
        "# Written at every start. Your own settings: postgres.local.conf, beside this file.
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = {connections}
password_encryption = scram-sha-256
fsync = {disk}
full_page_writes = {disk}
synchronous_commit = on
wal_compression = lz4
max_wal_size = 4GB
checkpoint_timeout = 15min
shared_buffers = 256MB
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
include_if_exists = 'postgres.local.conf'
"
    )
}

fn initdb_failed(output: &Output) -> anyhow::Error {
    let said = String::from_utf8_lossy(&output.stderr);
    Stop::unreachable(
        format!("PostgreSQL's initdb failed:\n{}", said.trim()),
        "strata doctor",
    )
}
