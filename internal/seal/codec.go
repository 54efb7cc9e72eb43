package seal

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// encodingSealed marks a payload that this package has sealed. The name is the one
// Temporal's own samples use, so its tools recognise what it is.
const encodingSealed = "binary/encrypted"

// payloadPurpose binds sealed payloads to their use: a token's ciphertext from the
// database cannot be passed off as a payload, nor the other way round.
var payloadPurpose = []byte("temporal-payload/v1")

// Codec seals the payloads of workflows, activities, updates and memos.
type Codec struct {
	sealer *Sealer
}

var _ converter.PayloadCodec = (*Codec)(nil)

// NewCodec makes the payload codec of a sealer.
func NewCodec(sealer *Sealer) *Codec { return &Codec{sealer: sealer} }

// Encode seals each payload whole: its metadata (the encoding, the message type)
// goes inside and comes back with it.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		sealed, err := c.sealer.Seal(plain, payloadPurpose)
		if err != nil {
			return nil, err
		}
		encoded[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingSealed)},
			Data:     sealed,
		}
	}
	return encoded, nil
}

// Decode opens what Encode sealed and passes everything else through: what an
// operator types into the Temporal UI arrives in clear.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingSealed {
			decoded[i] = p
			continue
		}
		plain, err := c.sealer.Open(p.GetData(), payloadPurpose)
		if err != nil {
			return nil, fmt.Errorf("decode payload: %w", err)
		}
		decoded[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(plain, decoded[i]); err != nil {
			return nil, fmt.Errorf("decode payload: %w", err)
		}
	}
	return decoded, nil
}

// codecs lists the outermost first: payloads are compressed where that makes them
// smaller, then sealed.
func codecs(sealer *Sealer) []converter.PayloadCodec {
	return []converter.PayloadCodec{NewCodec(sealer), converter.NewZlibCodec(converter.ZlibCodecOptions{})}
}

// DataConverter is what every Temporal client and worker of the marketplace uses.
func DataConverter(sealer *Sealer) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs(sealer)...)
}

// FailureConverter seals the details of failures but leaves their messages and
// stack traces readable: an operator must see why a payout failed without any
// further tool, and the marketplace's error messages never hold secrets.
func FailureConverter(sealer *Sealer) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          DataConverter(sealer),
		EncodeCommonAttributes: false,
	})
}
