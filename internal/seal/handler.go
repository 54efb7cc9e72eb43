package seal

import (
	"net/http"
	"slices"

	"go.temporal.io/sdk/converter"
)

// maxCodecBody bounds what the Temporal UI may ask to have decoded at once. One
// payload is at most 2 MiB, and base64 in JSON adds a third.
const maxCodecBody = 32 << 20

// CodecHandler opens payloads for the Temporal UI (POST /decode) and seals what an
// operator types there (POST /encode). Whoever reaches it reads every payload, so it
// belongs on loopback or behind the operators' own sign-in. Browsers are let in from
// the allowed origins alone.
func CodecHandler(sealer *Sealer, allowedOrigins []string) http.Handler {
	codec := converter.NewPayloadCodecHTTPHandler(codecs(sealer)...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			if !slices.Contains(allowedOrigins, origin) {
				// Also what stops DNS rebinding: the attacker's page keeps its origin.
				http.Error(w, "origin not allowed; see MARKETPLACE_CODEC_ALLOWED_ORIGINS", http.StatusForbidden)
				return
			}
			allowOrigin(w.Header(), origin)
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxCodecBody)
		codec.ServeHTTP(w, r)
	})
}

// allowOrigin sets what the Temporal UI's preflight asks for (its documentation,
// "Codec Server", lists the headers).
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Max-Age", "600")
}
