package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gokiln/kiln/internal/plainjson"
)

// Kinds of entry, for [Header.Kind].
const (
	KindSource   = "source"   // source and specialisation -> IR
	KindArtifact = "artifact" // IR and target -> what the compiler emits
	KindMachine  = "machine"  // artifact and device -> what the driver made of it
	KindTuned    = "tuned"    // work and device -> which configuration was measured to be the best
)

// A Header says what an entry is, in words a person can read. The store does
// not interpret any of it.
type Header struct {
	Kind   string `json:"kind"`             // KindSource, …
	Kernel string `json:"kernel,omitempty"` // "pkg.Add[float32]"
	Types  string `json:"types,omitempty"`  // the parameter types of this instance
	Target string `json:"target,omitempty"` // "ptx:sm_90"
	Format string `json:"format,omitempty"` // of the body: "ir", "ptx", "cubin"
	Build  string `json:"build,omitempty"`  // how it differs from the plain one: "checked", "small,aligned"
	Tool   string `json:"tool,omitempty"`   // what produced it, with versions

	// Meta holds what else this kind needs, as JSON. It comes back compacted. It is the last
	// field, see ParseHeader.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// ParseHeader reads a header from its JSON. Meta is part of that, as it stands there: most of a
// header is Meta, which whoever wants it decodes, and to have it checked and copied before
// costs a process that reads hundreds of entries as much again.
func ParseHeader(text []byte) (Header, error) {
	h, err := parseHeader(text)
	return h.Header, err
}

func parseHeader(text []byte) (storedHeader, error) {
	rest, meta := cutMeta(text)
	h, ok := plainHeader(rest)
	if !ok {
		h = storedHeader{}
		if err := json.Unmarshal([]byte(rest), &h); err != nil {
			return storedHeader{}, fmt.Errorf("%w: %w", errHeader, err)
		}
	}
	if meta != nil {
		h.Meta = meta
	}
	return h, nil
}

// plainHeader reads a header of plain JSON, without its Meta.
func plainHeader(text string) (h storedHeader, ok bool) {
	ok = plainjson.Read(text, func(r *plainjson.Reader) {
		r.Object(func(name string) {
			switch name {
			case "key":
				if h.Key.UnmarshalText([]byte(r.String())) != nil {
					r.Fail()
				}
			case "kind":
				h.Kind = r.String()
			case "kernel":
				h.Kernel = r.String()
			case "types":
				h.Types = r.String()
			case "target":
				h.Target = r.String()
			case "format":
				h.Format = r.String()
			case "build":
				h.Build = r.String()
			case "tool":
				h.Tool = r.String()
			default:
				r.Fail()
			}
		})
	})
	return h, ok
}

// cutMeta cuts the JSON of a header into that of all but Meta, and Meta.
func cutMeta(header []byte) (rest string, meta []byte) {
	// Before Meta there are only strings, in which a quote is escaped. What is not so is not cut.
	head, meta, ok := bytes.Cut(header, []byte(`,"meta":`))
	meta, closed := bytes.CutSuffix(meta, []byte("}"))
	if !ok || !closed || !bytes.HasSuffix(head, []byte(`"`)) {
		return string(header), nil
	}
	return string(head) + "}", meta
}

// An Entry is a header and the bytes it describes.
type Entry struct {
	Header
	Body []byte
}

const (
	magic = "kiln cache 1\n"

	// maxEntryBytes bounds what is read into memory for one entry. The
	// largest kernels compile to a few megabytes.
	maxEntryBytes = 1 << 30

	// maxUnseen is the size up to which a file is read into memory before it is known to be
	// an entry.
	maxUnseen = 1 << 20

	// maxHeaderBytes bounds the header line. Most headers are a few hundred
	// bytes, but Meta may hold the source positions of a large kernel.
	maxHeaderBytes = 16 << 20
)

// storedHeader is the header line: the caller's header, and the key, so that a
// file copied or renamed to another key's place is noticed.
type storedHeader struct {
	Key Key `json:"key"`
	Header
}

// Reasons for which a file is no entry. They reach people through Verify.
var (
	errMagic    = errors.New("not a cache entry, or one of another version")
	errChecksum = errors.New("checksum does not match: the file is damaged or incomplete")
	errHeader   = errors.New("header is malformed")
	errLength   = errors.New("body length does not match the file")
	errWrongKey = errors.New("file holds the entry of another key")
)

// encode returns the file of an entry.
func encode(k Key, e *Entry) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(magic) + 512 + len(e.Meta) + len(e.Body) + sha256.Size)
	b.WriteString(magic)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)                                                   // "func(a, b []float32) => x" stays readable
	if err := enc.Encode(storedHeader{Key: k, Header: e.Header}); err != nil { // ends with "\n"
		return nil, fmt.Errorf("encode header: %w", err)
	}
	if n := b.Len() - len(magic); n > maxHeaderBytes {
		return nil, fmt.Errorf("header of %d bytes is over the limit of %d: move Meta into the body", n, maxHeaderBytes)
	}
	fmt.Fprintf(&b, "%d\n", len(e.Body))
	b.Write(e.Body)
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	if b.Len() > maxEntryBytes {
		return nil, fmt.Errorf("entry of %d bytes is over the limit of %d", b.Len(), maxEntryBytes)
	}
	return b.Bytes(), nil
}

// checkSum reads a file of so many bytes, which ends with their checksum.
func checkSum(r io.Reader, size int64) error {
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(r, begin); err != nil {
		return errChecksum
	}
	if string(begin) != magic {
		return errMagic
	}
	h := sha256.New()
	h.Write(begin)
	if _, err := io.CopyN(h, r, size-int64(len(begin))-sha256.Size); err != nil {
		return errChecksum
	}
	stored := make([]byte, sha256.Size)
	if _, err := io.ReadFull(r, stored); err != nil || !bytes.Equal(h.Sum(nil), stored) {
		return errChecksum
	}
	return nil
}

// decode reads the file of the entry of want. The body shares memory with
// data. It takes any data: what is not whole, and of that key, is an error, and
// the memory used is in proportion to data.
func decode(data []byte, want Key) (*Entry, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, errMagic
	}
	if len(data) < len(magic)+sha256.Size {
		return nil, errChecksum
	}
	content, stored := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], stored) {
		return nil, errChecksum
	}
	line, rest, ok := bytes.Cut(content[len(magic):], []byte("\n"))
	if !ok {
		return nil, errHeader
	}
	h, err := decodeHeader(line)
	if err != nil {
		return nil, err
	}
	if h.Key != want {
		return nil, fmt.Errorf("%w (%v)", errWrongKey, h.Key)
	}
	body, err := decodeBody(rest)
	if err != nil {
		return nil, err
	}
	return &Entry{Header: h.Header, Body: body}, nil
}

func decodeHeader(line []byte) (storedHeader, error) {
	h, err := parseHeader(line)
	if err == nil && h.Meta != nil {
		if !json.Valid(h.Meta) {
			return storedHeader{}, fmt.Errorf("%w: its meta data is not JSON", errHeader)
		}
		h.Meta = bytes.Clone(h.Meta) // not all of a buffer that it was read into
	}
	return h, err
}

// decodeBody reads the length line and the body after it.
func decodeBody(rest []byte) ([]byte, error) {
	length, body, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || strconv.Itoa(len(body)) != string(length) {
		return nil, errLength
	}
	return body, nil
}
