//! The steps that bring a database to this version, as sqlx runs them.
//!
//! A list, and not `sqlx::migrate!`: that macro is a compiler plug-in with both databases in it, and building sqlx a second time for it was a
//! tenth of a cold build. **Invariant:** each file below `migrations` stands in the list, with the version and the words of its name; a test
//! reads the directory.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

/// A file of `migrations`.
struct Step {
    version: i64,
    description: &'static str,
    sql: &'static str,
}

macro_rules! steps {
    ($directory:literal: $($version:literal $description:literal $file:literal),+ $(,)?) => {
        [$(Step {
            version: $version,
            description: $description,
            sql: include_str!(concat!("../../migrations/", $directory, "/", $file)),
        }),+]
    };
}

const SQLITE: [Step; 3] = steps!("sqlite":
    1 "foundation" "0001_foundation.sql",
    2 "transcripts" "0002_transcripts.sql",
    3 "runs" "0003_runs.sql",
);

const POSTGRES: [Step; 3] = steps!("postgres":
    1 "foundation" "0001_foundation.sql",
    2 "transcripts" "0002_transcripts.sql",
    3 "runs" "0003_runs.sql",
);

pub(super) fn sqlite() -> Migrator {
    migrator(SQLITE)
}

pub(super) fn postgres() -> Migrator {
    migrator(POSTGRES)
}

fn migrator<const N: usize>(steps: [Step; N]) -> Migrator {
    let migrations = steps.map(|Step { version, description, sql }| {
        let (kind, sql) = (MigrationType::Simple, sql.into_sql_str());
        // In a transaction, each of them.
        Migration::new(version, description.into(), kind, sql, false)
    });
    Migrator::with_migrations(migrations.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What sqlx remembers of a step in the database, and refuses when it has changed.
    fn remembered(migrator: &Migrator) -> Vec<(i64, &str, &[u8])> {
        migrator.iter().map(|it| (it.version, &*it.description, &*it.checksum)).collect()
    }

    #[tokio::test]
    async fn the_steps_are_all_the_files_as_sqlx_itself_reads_them() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        for (name, ours) in [("sqlite", sqlite()), ("postgres", postgres())] {
            let read = Migrator::new(directory.join(name)).await.unwrap();
            assert!(!remembered(&read).is_empty());
            assert_eq!(remembered(&ours), remembered(&read), "{name}");
        }
    }
}
