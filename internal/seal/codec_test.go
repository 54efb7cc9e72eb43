package seal

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
)

type fundInput struct{ BountyID, Memo string }

func TestPayloadsAreSealedAndComeBack(t *testing.T) {
	t.Parallel()
	sealer := newTestSealer(t, newTestKeyset(t))
	conv := DataConverter(sealer)
	for name, in := range map[string]fundInput{
		"small": {BountyID: "0198", Memo: "confidential"},
		"large": {BountyID: "0198", Memo: strings.Repeat("confidential ", 1000)},
		"zero":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload, err := conv.ToPayload(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(payload.GetMetadata()[converter.MetadataEncoding]); got != encodingSealed {
				t.Errorf("encoding %q, want %q", got, encodingSealed)
			}
			if bytes.Contains(payload.GetData(), []byte("confidential")) {
				t.Error("the payload is readable")
			}
			var out fundInput
			if err := conv.FromPayload(payload, &out); err != nil {
				t.Fatal(err)
			}
			if out != in {
				t.Errorf("came back as %+v", out)
			}
		})
	}
}

func TestDecodePassesClearPayloadsThrough(t *testing.T) {
	t.Parallel()
	sealer := newTestSealer(t, newTestKeyset(t))
	typed, err := converter.GetDefaultDataConverter().ToPayload(fundInput{BountyID: "typed in the UI"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := NewCodec(sealer).Decode([]*commonpb.Payload{typed})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*commonpb.Payload{typed}, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefusesAValueSealedForSomethingElse(t *testing.T) {
	t.Parallel()
	sealer := newTestSealer(t, newTestKeyset(t))
	token, err := sealer.Seal([]byte("gho_token"), []byte("codehost-token"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewCodec(sealer).Decode([]*commonpb.Payload{{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingSealed)}, Data: token,
	}})
	if !errors.Is(err, ErrOpen) {
		t.Errorf("Decode: %v, want ErrOpen", err)
	}
}

func TestFailureMessageStaysReadableAndDetailsDoNot(t *testing.T) {
	t.Parallel()
	conv := FailureConverter(newTestSealer(t, newTestKeyset(t)))
	failure := conv.ErrorToFailure(temporal.NewNonRetryableApplicationError(
		"the recipient's account is frozen", "recipient_account_frozen", nil, fundInput{Memo: "confidential"}))
	if failure.GetMessage() != "the recipient's account is frozen" {
		t.Errorf("message %q", failure.GetMessage())
	}
	details := failure.GetApplicationFailureInfo().GetDetails().GetPayloads()
	if len(details) != 1 || bytes.Contains(details[0].GetData(), []byte("confidential")) {
		t.Errorf("details are readable: %v", details)
	}
	var back fundInput
	var app *temporal.ApplicationError
	if err := conv.FailureToError(failure); !errors.As(err, &app) || app.Details(&back) != nil || back.Memo != "confidential" {
		t.Errorf("came back as %v with %+v", err, back)
	}
}

func TestCodecHandler(t *testing.T) {
	t.Parallel()
	const ui = "http://127.0.0.1:7633"
	sealer := newTestSealer(t, newTestKeyset(t))
	payload, err := DataConverter(sealer).ToPayload(fundInput{BountyID: "0198"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{payload}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		method, origin string
		status         int
		allowed        string
	}{
		"the UI decodes":         {http.MethodPost, ui, http.StatusOK, ui},
		"the UI's preflight":     {http.MethodOptions, ui, http.StatusNoContent, ui},
		"the temporal CLI":       {http.MethodPost, "", http.StatusOK, ""},
		"another page":           {http.MethodPost, "https://evil.example", http.StatusForbidden, ""},
		"another page preflight": {http.MethodOptions, "https://evil.example", http.StatusForbidden, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequestWithContext(t.Context(), tt.method, "/decode", bytes.NewReader(body))
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			rec := httptest.NewRecorder()
			CodecHandler(sealer, []string{ui}).ServeHTTP(rec, req)
			if rec.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, tt.status, rec.Body)
			}
			if got := rec.Header().Get("Access-Control-Allow-Origin"); got != tt.allowed {
				t.Errorf("allowed origin %q, want %q", got, tt.allowed)
			}
			if rec.Code == http.StatusOK {
				assertDecoded(t, rec.Body.Bytes())
			}
		})
	}
}

func assertDecoded(t *testing.T, body []byte) {
	t.Helper()
	var answer commonpb.Payloads
	if err := protojson.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	var out fundInput
	if err := converter.GetDefaultDataConverter().FromPayloads(&answer, &out); err != nil || out.BountyID != "0198" {
		t.Errorf("decoded to %+v, %v", out, err)
	}
}
