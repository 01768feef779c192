//! Requests from elsewhere (a curl command, a HAR file, a raw HTTP file) as words of this command line. It does not know what the
//! words do.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use url::Url;

use super::cli::HammerArgs;

/// Headers that belong to one connection or are made anew for each request.
const NOT_KEPT: [&str; 6] = ["host", "content-length", "connection", "transfer-encoding", "accept-encoding", "keep-alive"];

/// A request as it was found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    url: String,
    method: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<String>,
    insecure: bool,
}

/// The words of the request that these options import; `None` where they import none.
pub fn words(args: &HammerArgs) -> Result<Option<Vec<OsString>>> {
    let found = match (&args.curl, &args.har, &args.http) {
        (Some(command), ..) => curl(command)?,
        (_, Some(file), _) => har(file, args.entry)?,
        (.., Some(file)) => http(file)?,
        _ => return Ok(None),
    };
    let started = args.run.is_some() || !args.url.is_empty();
    found.words(started).map(Some)
}

impl Found {
    /// `elsewhere`: the copies are named by other options, so that of the URL only path and query count.
    fn words(self, elsewhere: bool) -> Result<Vec<OsString>> {
        let mut words = Vec::new();
        let url = if self.url.contains("://") { self.url.clone() } else { format!("http://{}", self.url) };
        let parsed = Url::parse(&url).with_context(|| format!("`{}` is no URL", self.url))?;
        if elsewhere {
            let query = parsed.query().map_or_else(String::new, |query| format!("?{query}"));
            words.push(format!("--path={}{query}", parsed.path()));
        } else {
            words.push(format!("--url={url}"));
        }
        words.extend(self.method.map(|method| format!("--request={method}")));
        let kept = self.headers.iter().filter(|(name, _)| !NOT_KEPT.iter().any(|own| name.eq_ignore_ascii_case(own)));
        words.extend(kept.map(|(name, value)| format!("--header={name}: {value}")));
        words.extend(self.body.map(|body| format!("--data={body}")));
        if self.insecure {
            words.push("--insecure".to_owned());
        }
        Ok(words.into_iter().map(OsString::from).collect())
    }
}

/// Reads a curl command. Options that change what is sent and are not known here are an error; others are passed over.
fn curl(command: &str) -> Result<Found> {
    let words = shell_words::split(command).context("--curl: the quotes do not match")?;
    let mut words = words.into_iter().peekable();
    if words.peek().is_some_and(|word| word == "curl") {
        words.next();
    }
    let mut found = Found::default();
    let mut data: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        let (option, joined) = split_option(&word);
        let mut value = || joined.clone().or_else(|| words.next()).ok_or_else(|| anyhow!("--curl: `{option}` lacks its value"));
        match option.as_str() {
            "-X" | "--request" => found.method = Some(value()?),
            "-H" | "--header" => {
                let text = value()?;
                let (name, content) = text.split_once(':').ok_or_else(|| anyhow!("--curl: `{text}` is no header"))?;
                found.headers.push((name.trim().to_owned(), content.trim().to_owned()));
            }
            "-d" | "--data" | "--data-ascii" | "--data-raw" | "--data-binary" => {
                let text = value()?;
                ensure!(!text.starts_with('@'), "--curl: `{text}` names a file: give it with --data-file");
                data.push(text);
            }
            "--json" => {
                data.push(value()?);
                found.headers.push(("content-type".to_owned(), "application/json".to_owned()));
            }
            "-A" | "--user-agent" => found.headers.push(("user-agent".to_owned(), value()?)),
            "-e" | "--referer" => found.headers.push(("referer".to_owned(), value()?)),
            "-b" | "--cookie" => found.headers.push(("cookie".to_owned(), value()?)),
            "-I" | "--head" => found.method = Some("HEAD".to_owned()),
            "-k" | "--insecure" => found.insecure = true,
            "--url" => found.url = value()?,
            "-m" | "--max-time" | "--connect-timeout" | "-o" | "--output" | "-w" | "--write-out" => _ = value()?,
            "-u" | "--user" => bail!("--curl: give credentials as a header, -H 'authorization: Basic {{{{env.CREDENTIALS}}}}'"),
            "-F" | "--form" | "-G" | "--get" | "-T" | "--upload-file" | "--data-urlencode" | "-x" | "--proxy" => {
                bail!("--curl: `{option}` is not understood; write the request with -X, -H and -d")
            }
            // What is left says how curl prints or connects: -s, -v, -L, --compressed.
            _ if option.starts_with('-') && option.len() > 1 => {}
            _ => found.url = word,
        }
    }
    ensure!(!found.url.is_empty(), "--curl: there is no URL in the command");
    found.body = (!data.is_empty()).then(|| data.join("&"));
    let has_type = found.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if found.body.is_some() && !has_type {
        found.headers.push(("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
    }
    Ok(found)
}

/// `-XPOST` and `--request=POST` are an option with its value.
fn split_option(word: &str) -> (String, Option<String>) {
    let short_with_value = ["-X", "-H", "-d", "-A", "-b", "-e", "-u", "-m", "-o", "-F"];
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
            None => (word.to_owned(), None),
        };
    }
    match short_with_value.iter().find(|option| word.len() > 2 && word.starts_with(**option)) {
        Some(option) => ((*option).to_owned(), Some(word[2..].to_owned())),
        None => (word.to_owned(), None),
    }
}

#[derive(Deserialize)]
struct Har {
    log: HarLog,
}

#[derive(Deserialize)]
struct HarLog {
    entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
struct HarEntry {
    request: HarRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarHeader>,
    post_data: Option<HarBody>,
}

#[derive(Deserialize)]
struct HarHeader {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct HarBody {
    text: Option<String>,
}

/// Reads one entry (from 1) of an HTTP archive.
fn har(file: &Path, entry: usize) -> Result<Found> {
    let text = fs::read_to_string(file).with_context(|| format!("--har {}: cannot be read", file.display()))?;
    let archive: Har = serde_json::from_str(&text).with_context(|| format!("--har {}: no HTTP archive", file.display()))?;
    let count = archive.log.entries.len();
    let entry = entry.checked_sub(1).and_then(|index| archive.log.entries.into_iter().nth(index));
    let request = entry.ok_or_else(|| anyhow!("--entry: {} has entries 1 to {count}", file.display()))?.request;
    // HTTP/2 pseudo-headers are part of the request line.
    let headers = request.headers.into_iter().filter(|header| !header.name.starts_with(':'));
    Ok(Found {
        url: request.url,
        method: Some(request.method),
        headers: headers.map(|header| (header.name, header.value)).collect(),
        body: request.post_data.and_then(|body| body.text).filter(|text| !text.is_empty()),
        insecure: false,
    })
}

/// Reads a file with one HTTP/1.1 request, as it goes over the wire; line ends may be those of an editor.
fn http(file: &Path) -> Result<Found> {
    let text = fs::read_to_string(file).with_context(|| format!("--http {}: cannot be read", file.display()))?;
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
    let wire = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    let failed = || format!("--http {}: no HTTP/1.1 request", file.display());
    request.parse(wire.as_bytes()).with_context(failed)?;
    let headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned()))
        .collect();
    let target = request.path.with_context(failed)?;
    let host = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.as_str());
    let url = match host {
        _ if target.contains("://") => target.to_owned(),
        Some(host) => format!("http://{host}{target}"),
        None => format!("http://localhost{target}"),
    };
    Ok(Found {
        url,
        method: request.method.map(str::to_owned),
        headers,
        body: Some(body.trim_end_matches('\n').to_owned()).filter(|body| !body.is_empty()),
        insecure: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(found: Found, elsewhere: bool) -> Vec<String> {
        found.words(elsewhere).unwrap().into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_curl_command_becomes_options() {
        let found = curl(
            r#"curl -s --compressed -XPUT 'http://h:8/a?b=1' -H 'Content-Type: application/json' -H "Host: other" -d '{"c":"{{fresh}}"}' -k"#,
        );
        let words = words_of(found.unwrap(), false);
        assert_eq!(
            words,
            [
                "--url=http://h:8/a?b=1",
                "--request=PUT",
                "--header=Content-Type: application/json",
                r#"--data={"c":"{{fresh}}"}"#,
                "--insecure"
            ]
        );
        let form = curl("curl http://h/ -d a=1 --data b=2").unwrap();
        assert_eq!(form.body.as_deref(), Some("a=1&b=2"));
        assert!(form.headers[0].1.contains("urlencoded"));
        assert_eq!(words_of(curl("http://h/a?b=1").unwrap(), true), ["--path=/a?b=1"]);
    }

    #[test]
    fn what_cannot_be_sent_the_same_is_an_error() {
        for (command, says) in [
            ("curl http://h -F a=@b", "-F"),
            ("curl http://h -d @body.json", "--data-file"),
            ("curl http://h -u ann:secret", "as a header"),
            ("curl -H 'a: b'", "no URL"),
            ("curl http://h -H", "lacks its value"),
            ("curl 'http://h", "quotes"),
        ] {
            let error = format!("{:#}", curl(command).unwrap_err());
            assert!(error.contains(says) && !error.contains("secret"), "{command}: {error}");
        }
    }

    #[test]
    fn an_entry_of_an_archive_becomes_options() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.har");
        let entry = r#"{"request":{"method":"POST","url":"https://h/x","headers":[{"name":":path","value":"/x"},{"name":"x-a","value":"b"}],"postData":{"mimeType":"t","text":"body"}}}"#;
        fs::write(&file, format!(r#"{{"log":{{"entries":[{entry}]}}}}"#)).unwrap();
        let words = words_of(har(&file, 1).unwrap(), false);
        assert_eq!(words, ["--url=https://h/x", "--request=POST", "--header=x-a: b", "--data=body"]);
        assert!(har(&file, 2).unwrap_err().to_string().contains("entries 1 to 1"));
        assert!(har(&file, 0).is_err());
    }

    #[test]
    fn a_raw_request_becomes_options() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("request.http");
        fs::write(&file, "POST /x?y=1 HTTP/1.1\nHost: h:3000\nX-A: b\n\n{\"c\":1}\n").unwrap();
        let words = words_of(http(&file).unwrap(), false);
        assert_eq!(words, ["--url=http://h:3000/x?y=1", "--request=POST", "--header=X-A: b", "--data={\"c\":1}"]);
        fs::write(&file, "nonsense").unwrap();
        assert!(http(&file).unwrap_err().to_string().contains("no HTTP/1.1 request"));
    }
}
