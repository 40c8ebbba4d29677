package bundle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gokiln/kiln/cache"
)

// Bundle is an open bundle. It is safe for use by several goroutines.
type Bundle struct {
	name     string
	r        io.ReaderAt
	close    func() error
	header   Header
	text     []byte // of the header
	digest   Digest
	seal     seal
	manifest int64      // where the manifest begins
	sections []*section // as in the header
}

// section is one of the bundle's, read when it is first used.
type section struct {
	Section
	at   int64 // in the file; -1 if it is not present
	once sync.Once
	err  error

	index   []byte
	entries int64 // where they begin in the file
	decoder *zstd.Decoder
}

// Open opens a file.
func Open(name string) (*Bundle, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("bundle %s: not a regular file", name)
	}
	var b *Bundle
	if err == nil {
		b, err = Read(name, f, info.Size())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	b.close = f.Close
	return b, nil
}

// Parse opens a bundle that is in memory, such as an embedded one.
func Parse(name, data string) (*Bundle, error) {
	return Read(name, strings.NewReader(data), int64(len(data)))
}

// Read opens a bundle of size bytes; the name is for errors.
func Read(name string, r io.ReaderAt, size int64) (*Bundle, error) {
	b := &Bundle{name: name, r: r, close: func() error { return nil }}
	if err := b.open(size); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", name, err)
	}
	return b, nil
}

func (b *Bundle) open(size int64) error {
	in := bufio.NewReader(io.NewSectionReader(b.r, 0, min(size, 2*maxHeader)))
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(in, begin); err != nil || string(begin) != magic {
		return fmt.Errorf("%w: it does not begin with %q", ErrFormat, magic)
	}
	var err error
	if b.text, err = readLine(in, &b.header); err != nil {
		return fmt.Errorf("%w: header at byte %d: %w", ErrFormat, len(magic), err)
	}
	b.digest = sha256.Sum256(b.text)
	at := int64(len(magic) + len(b.text))
	sealed, err := readLine(in, &b.seal)
	if err != nil {
		return fmt.Errorf("%w: seal at byte %d: %w", ErrFormat, at, err)
	}
	if b.seal.Header != b.digest {
		return fmt.Errorf("%w: header at byte %d: its SHA-256 is not the one of the seal", ErrFormat, len(magic))
	}
	b.manifest = at + int64(len(sealed))
	return b.place(size)
}

// readLine reads a line of JSON.
func readLine(in *bufio.Reader, v any) ([]byte, error) {
	var text []byte
	for {
		piece, err := in.ReadSlice('\n')
		if text = append(text, piece...); len(text) > maxHeader {
			return nil, fmt.Errorf("longer than %d bytes", maxHeader)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		return text, json.Unmarshal(text, v)
	}
}

// place finds where the sections are, and checks that the sizes add up.
func (b *Bundle) place(size int64) error {
	if bad := b.header.Manifest.Size; bad < 0 || bad > maxPart {
		return fmt.Errorf("%w: manifest of %d bytes", ErrFormat, bad)
	}
	at := b.manifest + b.header.Manifest.Size
	for i, s := range b.header.Sections {
		if err := s.check(); err != nil {
			return fmt.Errorf("%w: section %d, %q: %w", ErrFormat, i, s.Target, err)
		}
		if i > 0 && s.Target <= b.header.Sections[i-1].Target {
			return fmt.Errorf("%w: section %d, %q, after %q", ErrFormat, i, s.Target, b.header.Sections[i-1].Target)
		}
		next := &section{Section: s, at: -1}
		if slices.Contains(b.seal.Present, i) {
			next.at = at
			if at > math.MaxInt64-s.Size {
				return fmt.Errorf("%w: section %d, %q: %d bytes", ErrFormat, i, s.Target, s.Size)
			}
			at += s.Size
		}
		b.sections = append(b.sections, next)
	}
	if at != size {
		return fmt.Errorf("%w: %d bytes, its header says %d: it was cut, or something was added", ErrFormat, size, at)
	}
	return nil
}

// check looks at the numbers of a section.
func (s *Section) check() error {
	switch {
	case s.Entries < 0 || s.Index.Size != int64(s.Entries)*recordSize || s.Index.Size > maxPart:
		return fmt.Errorf("index of %d bytes for %d entries", s.Index.Size, s.Entries)
	case s.Dict.Size < 0 || s.Dict.Size > maxDict || s.Dict.Raw < 0 || s.Dict.Raw > maxDict:
		return fmt.Errorf("dictionary of %d bytes, %d decompressed", s.Dict.Size, s.Dict.Raw)
	case s.Size < s.Dict.Size+s.Index.Size:
		return fmt.Errorf("%d bytes, less than its index", s.Size)
	}
	return nil
}

// Close closes the file.
func (b *Bundle) Close() error { return b.close() }

// Name is the name of the file, or what Read was told.
func (b *Bundle) Name() string { return b.name }

// Header says what is in the bundle.
func (b *Bundle) Header() Header { return b.header }

// Digest is the SHA-256 of the header, which has those of all else: it names the bundle.
func (b *Bundle) Digest() Digest { return b.digest }

// Has reports whether the section of a target is present in this copy.
func (b *Bundle) Has(target string) bool {
	s := b.section(target)
	return s != nil && s.at >= 0
}

func (b *Bundle) section(target string) *section {
	i := slices.IndexFunc(b.sections, func(s *section) bool { return s.Target == target })
	if i < 0 {
		return nil
	}
	return b.sections[i]
}

// Get returns the entry of a key in the section of a target. An error that is
// ErrMissing says that it is not there, others what is wrong.
func (b *Bundle) Get(target string, key cache.Key) (*cache.Entry, error) {
	s := b.section(target)
	if s == nil || s.at < 0 {
		return nil, ErrMissing
	}
	if s.once.Do(func() { s.err = s.load(b.r) }); s.err != nil {
		return nil, fmt.Errorf("bundle %s: section %q: %w", b.name, target, s.err)
	}
	n := len(s.index) / recordSize
	i := sort.Search(n, func(i int) bool { return bytes.Compare(s.index[i*recordSize:][:sha256.Size], key[:]) >= 0 })
	if i == n || !bytes.Equal(s.index[i*recordSize:][:sha256.Size], key[:]) {
		return nil, ErrMissing
	}
	e, err := s.entry(b.r, readRecord(s.index[i*recordSize:]))
	if err != nil {
		return nil, fmt.Errorf("bundle %s: section %q: entry %.12s: %w", b.name, target, key, err)
	}
	return e, nil
}

// load reads the dictionary and the index.
func (s *section) load(r io.ReaderAt) error {
	packed, err := read(r, s.at, s.Dict)
	if err != nil {
		return fmt.Errorf("dictionary %w", err)
	}
	var dict []byte
	if s.Dict.Raw > 0 {
		plain, err := decompressor(nil)
		if err != nil {
			return err
		}
		defer plain.Close()
		if dict, err = expand(plain, packed, s.Dict.Raw); err != nil {
			return fmt.Errorf("dictionary at byte %d: %w", s.at, err)
		}
	}
	if s.index, err = read(r, s.at+s.Dict.Size, s.Index); err != nil {
		return fmt.Errorf("index %w", err)
	}
	s.entries = s.at + s.Dict.Size + s.Index.Size
	s.decoder, err = decompressor(dict)
	return err
}

// read reads a part and compares its hash.
func read(r io.ReaderAt, at int64, p Part) ([]byte, error) {
	out := make([]byte, p.Size)
	if _, err := r.ReadAt(out, at); err != nil && (err != io.EOF || p.Size > 0) {
		return nil, fmt.Errorf("at byte %d: %w", at, err)
	}
	if sha256.Sum256(out) != p.SHA256 {
		return nil, fmt.Errorf("at byte %d: %w: its SHA-256 is another", at, ErrFormat)
	}
	return out, nil
}

// entry reads and decompresses an entry.
func (s *section) entry(r io.ReaderAt, rec record) (*cache.Entry, error) {
	room := uint64(s.Size - s.Dict.Size - s.Index.Size)
	if rec.at > room || uint64(rec.size) > room-rec.at {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", ErrFormat, rec.size, rec.at, room)
	}
	packed, err := read(r, s.entries+int64(rec.at), Part{Size: int64(rec.size), SHA256: rec.sum})
	if err != nil {
		return nil, err
	}
	data, err := expand(s.decoder, packed, int64(rec.raw))
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// Manifest lists the entries of all sections, those that this copy lacks included.
func (b *Bundle) Manifest() ([]Item, error) {
	m := b.header.Manifest
	packed, err := read(b.r, b.manifest, m)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: manifest %w", b.name, err)
	}
	dec, err := decompressor(nil)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	text, err := expand(dec, packed, m.Raw)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: manifest at byte %d: %w", b.name, b.manifest, err)
	}
	var items []Item
	for l := range bytes.Lines(text) {
		var it Item
		if err := json.Unmarshal(l, &it); err != nil {
			return nil, fmt.Errorf("bundle %s: manifest, line %d: %w: %w", b.name, len(items)+1, ErrFormat, err)
		}
		items = append(items, it)
	}
	return items, nil
}

// Verify reads all that is present and returns what is wrong.
func (b *Bundle) Verify() error {
	items, err := b.Manifest()
	errs := []error{err}
	listed := map[string]int{}
	for _, it := range items {
		listed[it.Target]++
		if !b.Has(it.Target) {
			continue
		}
		e, err := b.Get(it.Target, it.Key)
		if err == nil && (e.Kernel != it.Kernel || e.Kind != it.Kind || e.Build != it.Build) {
			err = fmt.Errorf("bundle %s: entry %.12s is %s of %s, the manifest says %s of %s", b.name, it.Key, e.Kind, e.Kernel, it.Kind, it.Kernel)
		}
		errs = append(errs, err)
	}
	for _, s := range b.header.Sections {
		if listed[s.Target] != s.Entries {
			errs = append(errs, fmt.Errorf("bundle %s: %d entries for %q, the manifest has %d", b.name, s.Entries, s.Target, listed[s.Target]))
		}
	}
	return errors.Join(errs...)
}
