//! TLS settings for a run. It does not know what is sent.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rustls::client::WantsClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::plan::Trust;

/// The settings for every connection over TLS.
pub fn client_config(trust: &Trust) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = if trust.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
    } else {
        let roots = match &trust.authorities {
            Some(file) => authorities(file)?,
            None => system_authorities()?,
        };
        builder.with_root_certificates(roots)
    };
    let mut config = match &trust.identity {
        Some((certificate, key)) => shown(builder, certificate, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![if trust.http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(Arc::new(config))
}

/// Shows this certificate to services that ask.
fn shown(builder: ConfigBuilder<ClientConfig, WantsClientCert>, certificate: &Path, key: &Path) -> Result<ClientConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.with_context(|| format!("--cert {}: cannot be read as PEM", certificate.display()))?;
    ensure!(!chain.is_empty(), "--cert {}: holds no certificate", certificate.display());
    let private = PrivateKeyDer::from_pem_file(key).with_context(|| format!("--key {}: cannot be read as PEM", key.display()))?;
    builder.with_client_auth_cert(chain, private).with_context(|| format!("--key {}: is not the key of --cert", key.display()))
}

fn authorities(file: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(file).with_context(|| format!("--cacert {}: cannot be read", file.display()))?;
    for certificate in certificates {
        let certificate = certificate.with_context(|| format!("--cacert {}: is not PEM", file.display()))?;
        roots.add(certificate).with_context(|| format!("--cacert {}: holds a bad certificate", file.display()))?;
    }
    ensure!(!roots.is_empty(), "--cacert {}: holds no certificate", file.display());
    Ok(roots)
}

fn system_authorities() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        bail!("this system has no trusted certificates; name some with --cacert FILE, or accept any with --insecure");
    }
    Ok(roots)
}

/// Accepts every certificate, for `--insecure`; signatures are still checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
