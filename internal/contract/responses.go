package contract

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Transport passes requests on and reports every answer that the document does
// not describe: an undeclared status or media type, or a body that breaks its
// schema. Report takes what testing.T's Errorf takes.
type Transport struct {
	Contract *Contract
	Next     http.RoundTripper
	Report   func(format string, args ...any)
}

// RoundTrip sends the request by Next and checks the answer.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	o := t.Contract.match(r)
	if o == nil {
		return response, nil // health checks, the documentation, and unknown paths
	}
	content, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(content))
	if err != nil {
		return response, fmt.Errorf("read the answer of %s: %w", o.ID, err)
	}
	if err := t.Contract.checkResponse(o, response.StatusCode, response.Header.Get("Content-Type"), content); err != nil {
		t.Report("%s answered %d: %v", o.ID, response.StatusCode, err)
	}
	return response, nil
}

func (c *Contract) checkResponse(o *Operation, status int, contentType string, content []byte) error {
	mediaTypes, ok := o.responses[strconv.Itoa(status)]
	switch {
	case !ok:
		return fmt.Errorf("the document does not describe this status: %.300s", content)
	case len(mediaTypes) == 0 && len(content) > 0:
		return fmt.Errorf("the document describes no body: %.300s", content)
	case len(mediaTypes) == 0:
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("media type %q: %w", contentType, err)
	}
	pointer, ok := mediaTypes[mediaType]
	if !ok {
		return fmt.Errorf("the document does not describe the media type %s", mediaType)
	}
	if pointer == "" || mediaType == "text/html" {
		return nil
	}
	schema, err := c.schema(pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w\n%.2000s", err, content)
	}
	return nil
}
