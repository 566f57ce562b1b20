//! How GDAL reads objects in place, part by part: its own name for the store, and its settings.
//!
//! Only where keys are given as such. Keys that somebody else lends for an hour (instance roles, federated tokens)
//! are known to the object store alone; what lies there is copied before it is read.

use std::collections::BTreeMap;

use url::Url;

/// A store as GDAL knows it.
#[derive(Clone)]
pub(super) struct Vsi {
    /// Such as `/vsis3/bucket`.
    pub(super) root: String,
    /// With keys, hence never printed.
    pub(super) settings: BTreeMap<String, String>,
}

impl std::fmt::Debug for Vsi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vsi")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

/// The variables of the environment that an object store is configured with, by names in lower case.
pub(super) struct Variables(pub(super) BTreeMap<String, String>);

impl Variables {
    fn first(&self, names: &[&str]) -> Option<String> {
        let found = names.iter().find_map(|name| self.0.get(*name));
        found.filter(|value| !value.is_empty()).cloned()
    }

    fn is_set(&self, name: &str) -> bool {
        self.0
            .get(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true") || value == "1")
    }

    /// The account that blobs are looked for in, where a store has accounts.
    pub(super) fn account(&self, url: &Url) -> Option<String> {
        let azure = matches!(url.scheme(), "az" | "azure" | "abfs" | "abfss");
        azure
            .then(|| self.first(&["azure_storage_account_name"]))
            .flatten()
    }
}

/// What GDAL needs for the store at this address; nothing if it cannot read there by itself.
pub(super) fn vsi(url: &Url, variables: &Variables) -> Option<Vsi> {
    let bucket = url.host_str().filter(|_| url.username().is_empty())?;
    match url.scheme() {
        "s3" | "s3a" => Some(Vsi {
            root: format!("/vsis3/{bucket}"),
            settings: s3(variables)?,
        }),
        "az" | "azure" => Some(Vsi {
            root: format!("/vsiaz/{bucket}"),
            settings: azure(variables)?,
        }),
        _ => None,
    }
}

fn s3(variables: &Variables) -> Option<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
    if variables.is_set("aws_skip_signature") {
        set("AWS_NO_SIGN_REQUEST", "YES".to_owned());
    } else {
        set(
            "AWS_ACCESS_KEY_ID",
            variables.first(&["aws_access_key_id"])?,
        );
        set(
            "AWS_SECRET_ACCESS_KEY",
            variables.first(&["aws_secret_access_key"])?,
        );
    }
    if let Some(token) = variables.first(&["aws_session_token", "aws_token"]) {
        set("AWS_SESSION_TOKEN", token);
    }
    let region = variables.first(&["aws_region", "aws_default_region"]);
    set(
        "AWS_REGION",
        region.unwrap_or_else(|| "us-east-1".to_owned()),
    );
    let endpoint = variables.first(&["aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint"]);
    if let Some(endpoint) = endpoint {
        let (scheme, host) = endpoint.split_once("://")?;
        set("AWS_S3_ENDPOINT", host.trim_end_matches('/').to_owned());
        let https = if scheme == "http" { "NO" } else { "YES" };
        set("AWS_HTTPS", https.to_owned());
    }
    let hosted = variables.is_set("aws_virtual_hosted_style_request");
    set(
        "AWS_VIRTUAL_HOSTING",
        if hosted { "TRUE" } else { "FALSE" }.to_owned(),
    );
    // Nobody else is asked for keys.
    set("CPL_AWS_AUTODETECT_EC2", "NO".to_owned());
    Some(settings)
}

fn azure(variables: &Variables) -> Option<BTreeMap<String, String>> {
    let account = variables.first(&["azure_storage_account_name"])?;
    let key = variables.first(&["azure_storage_account_key", "azure_storage_access_key"]);
    let sas = variables.first(&["azure_storage_sas_key", "azure_storage_sas_token"]);
    let endpoint = variables.first(&["azure_storage_endpoint", "azure_endpoint"]);
    let settings = match (endpoint, key, sas) {
        (Some(endpoint), Some(key), _) => {
            let scheme = endpoint.split_once("://")?.0.to_owned();
            let endpoint = endpoint.trim_end_matches('/');
            vec![(
                "AZURE_STORAGE_CONNECTION_STRING",
                format!(
                    "DefaultEndpointsProtocol={scheme};AccountName={account};AccountKey={key};BlobEndpoint={endpoint}"
                ),
            )]
        }
        (None, Some(key), _) => vec![
            ("AZURE_STORAGE_ACCOUNT", account),
            ("AZURE_STORAGE_ACCESS_KEY", key),
        ],
        (None, None, Some(sas)) => vec![
            ("AZURE_STORAGE_ACCOUNT", account),
            (
                "AZURE_STORAGE_SAS_TOKEN",
                sas.trim_start_matches('?').to_owned(),
            ),
        ],
        _ => return None,
    };
    let settings = settings.into_iter();
    Some(
        settings
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Variables {
        let pairs = pairs.iter();
        Variables(
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn gdal_is_told_what_the_object_store_was_told_and_nothing_without_keys() {
        let s3 = Url::parse("s3://bucket/prefix").unwrap();
        let azure = Url::parse("az://container").unwrap();
        assert!(vsi(&s3, &given(&[("aws_region", "eu")])).is_none());
        assert!(vsi(&azure, &given(&[("azure_storage_account_name", "a")])).is_none());
        let keys = [
            ("aws_access_key_id", "id"),
            ("aws_secret_access_key", "secret"),
            ("aws_endpoint", "http://127.0.0.1:9000/"),
        ];
        let found = vsi(&s3, &given(&keys)).unwrap();
        assert_eq!(found.root, "/vsis3/bucket");
        assert_eq!(found.settings["AWS_S3_ENDPOINT"], "127.0.0.1:9000");
        assert_eq!(found.settings["AWS_HTTPS"], "NO");
        assert!(!format!("{found:?}").contains("secret"));
        let keys = [
            ("azure_storage_account_name", "a"),
            ("azure_storage_account_key", "k"),
        ];
        let found = vsi(&azure, &given(&keys)).unwrap();
        assert_eq!(found.settings["AZURE_STORAGE_ACCOUNT"], "a");
        // Keys of another form of address are not guessed at.
        let odd = Url::parse("abfss://container@account.dfs.core.windows.net/x").unwrap();
        assert!(vsi(&odd, &given(&keys)).is_none());
    }
}
