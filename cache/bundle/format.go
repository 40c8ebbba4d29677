package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/gokiln/kiln/cache"
)

// Common is the name of the section for all targets.
const Common = ""

const (
	magic = "kiln bundle 1\n"

	// Limits of what is read into memory on the word of a file.
	maxHeader = 4 << 20
	maxPart   = 256 << 20 // a manifest, an index, an entry

	recordSize = 2*sha256.Size + 16
	maxDict    = 64 << 10
	dictID     = 1
)

var (
	// ErrFormat is in the chain of errors about a file that is no bundle, or a damaged one.
	ErrFormat = errors.New("not a bundle, or a damaged one")
	// ErrMissing is in the chain of errors about entries that a bundle does not have.
	ErrMissing = errors.New("not in the bundle")
)

// Header says what is in a bundle.
type Header struct {
	Compiler string    `json:"compiler"` // version of the compiler that made it
	Manifest Part      `json:"manifest"`
	Sections []Section `json:"sections"` // in order of targets
}

// Part is a part of the file, and what it has to hash to.
type Part struct {
	Size   int64  `json:"size"`
	Raw    int64  `json:"raw,omitempty"` // decompressed, if it is compressed
	SHA256 Digest `json:"sha256"`
}

// Section is the entries for a target.
type Section struct {
	Target  string `json:"target"`
	Entries int    `json:"entries"`
	Size    int64  `json:"size"` // in the file
	Dict    Part   `json:"dict"`
	Index   Part   `json:"index"`
}

// Item is a line of the manifest: an entry.
type Item struct {
	Key cache.Key `json:"key"`
	cache.Header
	Size int `json:"size"` // of the entry, decompressed
}

// seal is the line of the file that may differ among copies of a bundle.
type seal struct {
	Header     Digest      `json:"header"`  // of the line before
	Present    []int       `json:"present"` // sections
	Signatures []Signature `json:"signatures,omitempty"`
}

// Digest is a SHA-256, in JSON as hexadecimal digits.
type Digest [sha256.Size]byte

// String returns the digest as 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the form of String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the form of String.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("%q is not a SHA-256 in hexadecimal", text)
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// record is where an entry lies in its section.
type record struct {
	key, sum  Digest
	at        uint64
	size, raw uint32
}

func (r *record) append(b []byte) []byte {
	b = append(append(b, r.key[:]...), r.sum[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.at)
	b = binary.LittleEndian.AppendUint32(b, r.size)
	return binary.LittleEndian.AppendUint32(b, r.raw)
}

func readRecord(b []byte) (r record) {
	copy(r.key[:], b)
	copy(r.sum[:], b[sha256.Size:])
	b = b[2*sha256.Size:]
	r.at, r.size, r.raw = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	return r
}

// line writes a value as a line of JSON.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// compressor makes frames that do not depend on anything but their content.
func compressor(dict []byte) (*zstd.Encoder, error) {
	options := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false)}
	if len(dict) > 0 {
		options = append(options, zstd.WithEncoderDictRaw(dictID, dict))
	}
	return zstd.NewWriter(nil, options...)
}

// decompressor reads frames of no more than a part.
func decompressor(dict []byte) (*zstd.Decoder, error) {
	options := []zstd.DOption{zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPart), zstd.WithDecodeAllCapLimit(true)}
	if len(dict) > 0 {
		options = append(options, zstd.WithDecoderDictRaw(dictID, dict))
	}
	return zstd.NewReader(nil, options...)
}

// expand decompresses what has to become raw bytes. Memory grows with what comes out,
// not with what a file says.
func expand(d *zstd.Decoder, packed []byte, raw int64) ([]byte, error) {
	if raw > maxPart {
		return nil, fmt.Errorf("%w: %d bytes decompressed, the limit is %d", ErrFormat, raw, int64(maxPart))
	}
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if h.HasFCS && h.FrameContentSize != uint64(raw) {
		return nil, fmt.Errorf("%w: frame of %d bytes decompressed, want %d", ErrFormat, h.FrameContentSize, raw)
	}
	out, err := d.DecodeAll(packed, make([]byte, 0, min(raw, int64(len(packed))<<12)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if int64(len(out)) != raw {
		return nil, fmt.Errorf("%w: %d bytes decompressed, want %d", ErrFormat, len(out), raw)
	}
	return out, nil
}

// encode writes an entry as a line of JSON, its header, and its body.
func encode(e *cache.Entry) ([]byte, error) {
	head, err := line(e.Header)
	return append(head, e.Body...), err
}

func decode(data []byte) (*cache.Entry, error) {
	head, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, fmt.Errorf("%w: an entry without a header", ErrFormat)
	}
	e := &cache.Entry{Body: body}
	rest, meta := cache.CutMeta(head)
	if err := json.Unmarshal(rest, &e.Header); err != nil {
		return nil, fmt.Errorf("%w: header of an entry: %w", ErrFormat, err)
	}
	if meta != nil {
		e.Meta = meta
	}
	return e, nil
}
