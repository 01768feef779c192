//! Reads what options say: URLs, headers, requests, places, and templates in all of them; and remembers what is secret. It
//! decides nothing.

use anyhow::{Context, Result, anyhow, bail, ensure};
use url::Url;

use super::database::Query;
use super::locator::Locator;
use super::mask::{Mask, is_secret_name};
use super::plan::{Endpoint, Step, Verify};
use super::request::RequestTemplate;
use super::template::{Template, Values};

/// Reads texts into templates and remembers which of them are secret.
pub struct Reader<'a> {
    /// Answers `{{env.NAME}}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// What must not be printed.
    pub secrets: Vec<String>,
    /// Names of values that set-up requests give.
    pub captures: Vec<String>,
}

impl Reader<'_> {
    /// A text with placeholders.
    pub fn template(&mut self, what: &str, text: &str) -> Result<Template> {
        let template = Template::parse(text, self.environment, &mut self.secrets).map_err(|error| anyhow!("{what}: {error}"))?;
        if let Some(name) = template.captures().find(|name| !self.captures.iter().any(|known| known == name)) {
            bail!(
                "{what}: nothing gives `{{{{capture.{name}}}}}` its value; say where it stands with --capture {name}=json:$.PATH"
            );
        }
        Ok(template)
    }

    /// A header, as `name: value`.
    pub fn header(&mut self, text: &str) -> Result<(String, Template)> {
        let (name, value) = text.split_once(':').ok_or_else(|| anyhow!("-H '{text}': write a header as 'name: value'"))?;
        let (name, value) = (name.trim(), value.trim());
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        ensure!(!name.is_empty() && name.chars().all(token), "-H '{text}': `{name}` is no header name");
        ensure!(
            !["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)),
            "-H '{name}': lockcheck frames the body itself; leave this header out"
        );
        let known = self.secrets.len();
        let template = self.template(&format!("-H '{name}'"), value)?;
        let line_end = |text: &String| text.contains(['\r', '\n']);
        ensure!(
            !line_end(&value.to_owned()) && !self.secrets[known..].iter().any(line_end),
            "-H '{name}': a header's value is one line"
        );
        if is_secret_name(name) && !template.names_entity() {
            let words = value.split_whitespace().filter(|word| word.len() > 6 && !word.contains("{{"));
            self.secrets.extend(words.map(str::to_owned));
        }
        Ok((name.to_owned(), template))
    }

    /// A path, with its query.
    pub fn path(&mut self, text: &str) -> Result<Template> {
        ensure!(text.starts_with('/'), "`{text}`: a path starts with `/`");
        self.template("the path", text)
    }

    /// The URL of a copy.
    pub fn endpoint(&mut self, text: &str) -> Result<Endpoint> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let authority_at = with_scheme.find("://").map_or(0, |at| at + 3);
        let target_at = with_scheme[authority_at..].find(['/', '?']).map_or(with_scheme.len(), |at| authority_at + at);
        let (base, target) = with_scheme.split_at(target_at);
        let shown = Mask::default().apply(text);
        let url = Url::parse(base).with_context(|| format!("--url {shown}: write http://HOST:PORT/PATH"))?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => bail!("--url {shown}: `{other}` is not spoken; write http:// or https://"),
        };
        if let Some(password) = url.password() {
            self.secrets.push(password.to_owned());
        }
        ensure!(
            url.username().is_empty() && url.password().is_none(),
            "--url {shown}: give credentials as a header, for example -H 'authorization: Basic {{{{env.CREDENTIALS}}}}'"
        );
        let host = url.host_str().ok_or_else(|| anyhow!("--url {shown}: there is no host"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let target = target.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Endpoint {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            authority,
            target: self.template(&format!("--url {shown}"), &target)?,
            via: None,
        })
    }

    /// A request beside the volley, as `METHOD /path BODY`.
    pub fn step(&mut self, option: &str, text: &str, headers: &[(String, Template)]) -> Result<Step> {
        let usage = || {
            anyhow!(
                "{option} '{text}': write it as 'METHOD /path BODY', for example 'POST /coupons {{\"code\":\"{{{{fresh}}}}\"}}'"
            )
        };
        let (verb, rest) = text.trim().split_once(char::is_whitespace).ok_or_else(usage)?;
        let (path, body) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        ensure!(path.starts_with('/'), usage());
        let body = Some(body.trim()).filter(|body| !body.is_empty());
        let body = body.map(|body| self.template(option, body)).transpose()?;
        Ok(Step {
            source: text.to_owned(),
            request: RequestTemplate { method: method(verb)?, headers: headers.to_vec(), body },
            target: self.template(option, path)?,
        })
    }

    /// A read from a database.
    pub fn query(&mut self, url: &str, statement: &str) -> Result<Query> {
        let url = self.template("--verify-sql", url)?.render(Values { fresh: "", n: 1, captured: &[] });
        let password = Url::parse(&url).ok().and_then(|url| url.password().map(str::to_owned));
        self.secrets.extend(password);
        Query::new(&url, self.template("--verify-sql", statement)?)
    }

    /// A read by a request, as `GET /path PLACE`.
    pub fn verify(&mut self, text: &str, headers: &[(String, Template)]) -> Result<Verify> {
        let usage = "write it as 'GET /path PLACE', for example 'GET /orders/{{fresh}} json:$.count'";
        let (read, place) = text.trim().rsplit_once(char::is_whitespace).ok_or_else(|| anyhow!("--verify '{text}': {usage}"))?;
        let locator = Locator::parse(place).map_err(|error| anyhow!("--verify: {error}; {usage}"))?;
        // The volley's own content type says nothing about a read.
        let headers: Vec<_> = headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type")).cloned().collect();
        Ok(Verify::Http(self.step("--verify", read, &headers)?, locator))
    }
}

/// An HTTP method, in capitals.
pub fn method(text: &str) -> Result<String> {
    let method = text.to_ascii_uppercase();
    let known = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    ensure!(known, "`{text}` is no HTTP method");
    ensure!(method != "CONNECT", "CONNECT opens a tunnel; there is nothing to judge");
    Ok(method)
}

/// Reads `HOST:PORT`.
pub fn replica(text: &str) -> Result<(String, u16)> {
    let (host, port) = text.rsplit_once(':').ok_or_else(|| anyhow!("--replica '{text}': write it as HOST:PORT"))?;
    let port = port.parse().map_err(|_| anyhow!("--replica '{text}': `{port}` is no port"))?;
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

/// Reads `NAME=PLACE`.
pub fn capture(text: &str) -> Result<(String, Locator)> {
    let usage = "write it as NAME=PLACE, for example id=json:$.id";
    let (name, place) = text.split_once('=').ok_or_else(|| anyhow!("--capture '{text}': {usage}"))?;
    let place = Locator::parse(place.trim()).map_err(|error| anyhow!("--capture '{text}': {error}"))?;
    Ok((name.trim().to_owned(), place))
}
