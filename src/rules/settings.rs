//! Settings of frameworks that say where something is kept: `rules/common/settings.toml`. It must not know where settings are written.

use serde::Deserialize;

use super::{Meaning, Scope};

/// Everything known of settings.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRules {
    /// Words of stores in one process.
    process: Vec<String>,
    /// Words of stores on one machine.
    host: Vec<String>,
    /// Words of stores that all copies share.
    cluster: Vec<String>,
    /// Patterns of files of variables; the later word counts.
    pub environment: Vec<String>,
    /// Names of variables, and of members of the process, that tell one copy from another.
    identity: Vec<String>,
    /// Words in the name of a settings file that users are not served with.
    pub aside: Vec<String>,
    /// Words in the name of the one they are.
    pub served: Vec<String>,
    /// The settings.
    #[serde(default, rename = "setting")]
    pub settings: Vec<SettingRow>,
}

/// One setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRow {
    /// Its name.
    pub key: String,
    /// Other names of it.
    #[serde(default)]
    pub also: Vec<String>,
    /// Where in its value the deciding texts stand, keys with dots; `*` is the part that is asked for, `default` unless a call
    /// names another. The value itself when not said.
    #[serde(default)]
    pub at: Vec<String>,
    /// What holds where it is not set.
    pub absent: Option<Scope>,
    /// Settings one of which says that the settings are in the tree at all; without any, not being set says so by itself.
    #[serde(default)]
    pub beside: Vec<String>,
    /// What being set puts into the program: a `limiter` or a `session` store.
    pub makes: Option<Meaning>,
    /// The values that do so; any but an empty one, where none are named.
    #[serde(default)]
    pub values: Vec<String>,
    /// The type of a pack one of whose classes has to be among its values; the first place of the tree speaks for all.
    #[serde(default)]
    pub of: String,
    /// What a class of the tree has that keeps it elsewhere.
    #[serde(default)]
    pub unless: Vec<String>,
    /// The setting that says where it keeps what it knows.
    #[serde(default)]
    pub store: String,
    /// The library whose setting it is, for its cures.
    #[serde(default)]
    pub library: String,
    /// Where it is on, each request runs in a transaction.
    #[serde(default)]
    pub transactional: bool,
}

impl SettingRules {
    /// The setting of a name.
    pub fn row(&self, key: &str) -> Option<&SettingRow> {
        self.settings.iter().find(|row| row.key == key)
    }

    /// Whether a text may hold a setting, or say that the settings are in the tree.
    pub fn speaks_in(&self, text: &str) -> bool {
        let names = self.settings.iter().flat_map(|row| [&row.key].into_iter().chain(&row.also).chain(&row.beside));
        names.into_iter().any(|name| text.contains(name.as_str()))
    }

    /// Whether a variable of the environment, or a member of the process, tells one copy from another.
    pub fn tells_copy(&self, name: &str) -> bool {
        self.identity.iter().any(|known| known == name)
    }

    /// How far a store reaches, by its name or address.
    pub fn reach_of(&self, text: &str) -> Option<Scope> {
        let text = text.to_lowercase();
        let lists = [(&self.process, Scope::Process), (&self.host, Scope::Host), (&self.cluster, Scope::Cluster)];
        lists.into_iter().find(|(words, _)| words.iter().any(|word| text.contains(word.as_str()))).map(|(_, scope)| scope)
    }
}

impl SettingRow {
    /// Whether this is the setting's name or another name of it.
    pub fn is_called(&self, name: &str) -> bool {
        self.key == name || self.also.iter().any(|other| other == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{RuleSet, Rulebook};

    #[test]
    fn stores_are_told_by_their_words() {
        let book = Rulebook::load(&RuleSet::builtin()).unwrap();
        let reach = |text: &str| book.settings.reach_of(text);
        assert_eq!(reach("django.core.cache.backends.locmem.LocMemCache"), Some(Scope::Process));
        assert_eq!(reach("django.core.cache.backends.filebased.FileBasedCache"), Some(Scope::Host));
        assert_eq!(reach("django_redis.cache.RedisCache"), Some(Scope::Cluster));
        assert_eq!(reach("django.core.cache.backends.memcached.PyMemcacheCache"), Some(Scope::Cluster));
        assert_eq!(reach("memory://"), Some(Scope::Process));
        assert_eq!(reach("rediss://cache.example.com:6380/1"), Some(Scope::Cluster));
        assert_eq!(reach("project.caching.Custom"), None);
    }
}
