//! What is sent: the event as it was recorded, signed at the moment of sending. A receiver can tell that it comes from us,
//! that it was not changed, and that it is not an old one sent again.

use axum::body::Body;
use axum::http::{Request, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::access::secrets::hex;
use crate::access::targets::Target;

/// One message to one receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// The same on every attempt.
    pub(crate) id: &'a str,
    pub(crate) event: &'a str,
    pub(crate) body: &'a str,
}

impl Message<'_> {
    /// Signed with the secret, at this time in seconds since 1970.
    pub(crate) fn request(
        &self,
        target: &Target,
        secret: &str,
        timestamp: i64,
    ) -> Result<Request<Body>, axum::http::Error> {
        Request::post(&target.path)
            .header(header::HOST, &target.authority)
            .header(header::USER_AGENT, concat!("conductor/", env!("CARGO_PKG_VERSION")))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_LENGTH, self.body.len())
            .header(header::CONNECTION, "close")
            .header("x-conductor-event", self.event)
            .header("x-conductor-delivery", self.id)
            .header("x-conductor-timestamp", timestamp)
            .header("x-conductor-signature", format!("sha256={}", signature(secret, timestamp, self.body)))
            .body(Body::from(self.body.to_owned()))
    }
}

/// Of the time and the body together: an old body cannot be sent again under a new time.
fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(timestamp.to_string().as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    hex(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by `openssl dgst -sha256 -hmac`, and by Python's `hmac`.
    #[test]
    fn a_signature_is_what_other_programs_compute() {
        assert_eq!(
            signature(
                "whsec_0123456789abcdef0123456789abcdef",
                1_700_000_000,
                r#"{"type":"ping","text":"Grüße"}"#
            ),
            "ef027ec01450ecf101d3b0c7215c05b327d577a87753758b0afec299455ae5af"
        );
    }

    #[test]
    fn a_request_says_what_it_is() {
        let target = Target::read("https://example.org/in?a=b", false).unwrap();
        let message = Message { id: "whd_1", event: "ping", body: "{}" };
        let request = message.request(&target, "0123456789abcdef01234567", 7).unwrap();
        let header =
            |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        assert_eq!((request.method().as_str(), request.uri().to_string().as_str()), ("POST", "/in?a=b"));
        assert_eq!((header("host"), header("content-length")), ("example.org", "2"));
        assert_eq!((header("x-conductor-event"), header("x-conductor-delivery")), ("ping", "whd_1"));
        assert_eq!(header("x-conductor-timestamp"), "7");
        assert!(header("x-conductor-signature").starts_with("sha256="));
    }
}
