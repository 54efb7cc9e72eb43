package contract

import (
	"errors"
	"net/mail"
	"time"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var errFormat = errors.New("wrong format")

// newCompiler asserts exactly those formats that the generated types decode, so
// what passes here also decodes later.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for name, valid := range map[string]func(string) bool{"uuid": isUUID, "date-time": isTime, "email": isEmail} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !valid(s) {
				return errFormat
			}
			return nil
		}})
	}
	return c
}

// isUUID takes the 36-character form only; uuid.Parse knows others as well.
func isUUID(s string) bool {
	return len(s) == 36 && uuid.Validate(s) == nil
}

func isTime(s string) bool {
	var t time.Time
	return t.UnmarshalText([]byte(s)) == nil
}

func isEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	return err == nil && address.Address == s
}
