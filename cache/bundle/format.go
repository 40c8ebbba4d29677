package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gokiln/kiln/cache"
)

// Common is the name of the section for all targets.
const Common = ""

const (
	magicName = "kiln bundle "
	format    = "2" // of the file; 1 compressed each entry on its own
	magic     = magicName + format + "\n"

	// Limits of what is read into memory on the word of a file.
	maxHeader = 4 << 20
	maxPart   = 256 << 20 // a manifest, an index, a block

	// blockSize is how much entries that are compressed together have: enough to resemble one
	// another, and little to read for one of them.
	blockSize = 128 << 10

	blockRecordSize = sha256.Size + 8
	recordSize      = sha256.Size + 12
)

var (
	// ErrFormat is in the chain of errors about a file that is no bundle, or a damaged one.
	ErrFormat = errors.New("not a bundle, or a damaged one")
	// ErrVersion is in the chain of errors about bundles that another release has written, in
	// a format that this one does not read.
	ErrVersion = errors.New("bundle of another format")
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
	Blocks  int    `json:"blocks"`
	Size    int64  `json:"size"` // in the file
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

// blockRecord is what has to come of a block of a section. Blocks lie one after the other.
type blockRecord struct {
	sum       Digest // of the compressed block
	size, raw uint32 // compressed and not
}

func (r *blockRecord) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, r.sum[:]...), r.size)
	return binary.LittleEndian.AppendUint32(b, r.raw)
}

func readBlockRecord(b []byte) (r blockRecord) {
	b = b[copy(r.sum[:], b):]
	r.size, r.raw = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	return r
}

// record is where an entry lies in its section.
type record struct {
	key             cache.Key
	block, at, size uint32 // which block, and where in it when it is decompressed
}

func (r *record) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, r.key[:]...), r.block)
	b = binary.LittleEndian.AppendUint32(b, r.at)
	return binary.LittleEndian.AppendUint32(b, r.size)
}

func readRecord(b []byte) (r record) {
	b = b[copy(r.key[:], b):]
	r.block, r.at, r.size = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
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
var compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
})

// decompressor reads frames of no more than a part. It has no dictionary: with one, each byte
// is decoded by slower code.
var decompressor = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(decoders), zstd.WithDecoderMaxMemory(maxPart), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(false)) // which makes room for each frame of another size
})

// decoders is how many blocks can be decompressed at the same time.
const decoders = 1 + readers

// mostRatio is how many bytes may come of one that is compressed: a block of a frame, of 128 KiB
// at most, takes four bytes or more (RFC 8878, 3.1.1.2).
const mostRatio = 128 << 10 / 4

// expand decompresses what has to become raw bytes. More memory than can come of what is
// there is not taken on the word of a file.
func expand(packed []byte, raw int64) ([]byte, error) {
	d, err := decompressor()
	if err != nil {
		return nil, err
	}
	if raw < 0 || raw > maxPart {
		return nil, fmt.Errorf("%w: %d bytes decompressed, the limit is %d", ErrFormat, raw, int64(maxPart))
	}
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if h.HasFCS && h.FrameContentSize != uint64(raw) {
		return nil, fmt.Errorf("%w: frame of %d bytes decompressed, want %d", ErrFormat, h.FrameContentSize, raw)
	}
	if raw > int64(len(packed))*mostRatio {
		return nil, fmt.Errorf("%w: %d bytes decompressed cannot come of %d", ErrFormat, raw, len(packed))
	}
	out, err := d.DecodeAll(packed, make([]byte, 0, raw))
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
	h, err := cache.ParseHeader(head)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return &cache.Entry{Header: h, Body: body}, nil
}
