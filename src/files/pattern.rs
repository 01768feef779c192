//! Patterns of file names. They must not know what a name means.

/// Whether a path's last name fits a pattern, in which `*` stands for any characters; a pattern with a `/` is compared with as
/// many names at the path's end as it has. One that begins with `/` must be the whole path.
pub fn name_fits(path: &str, pattern: &str) -> bool {
    let (pattern, whole) = pattern.strip_prefix('/').map_or((pattern, false), |rest| (rest, true));
    let (mut names, mut patterns) = (path.rsplit('/'), pattern.rsplit('/'));
    patterns.all(|pattern| names.next().is_some_and(|name| glob(name, pattern))) && (!whole || names.next().is_none())
}

/// Whether a name fits a pattern.
pub fn glob(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_whole_paths_fit() {
        assert!(name_fits("a/docker-compose.prod.yml", "docker-compose*.y*ml"));
        assert!(name_fits("a/nginx/x.conf", "nginx/*.conf"));
        assert!(!name_fits("a/other/x.conf", "nginx/*.conf"));
        assert!(name_fits("own.toml", "/own.toml"));
        assert!(!name_fits("a/own.toml", "/own.toml"));
    }
}
