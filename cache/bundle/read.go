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
	blocks   blocks     // that were read
}

// section is one of the bundle's, read when it is first used.
type section struct {
	Section
	at   int64 // in the file; -1 if it is not present
	once sync.Once
	err  error

	index  []byte // records
	blocks []block
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
	if err := readMagic(in); err != nil {
		return err
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

// readMagic reads the first line.
func readMagic(in io.Reader) error {
	begin := make([]byte, len(magic))
	n, _ := io.ReadFull(in, begin)
	if string(begin) == magic {
		return nil
	}
	version, ok := strings.CutPrefix(string(begin[:n]), magicName)
	if version, _, ended := strings.Cut(version, "\n"); ok && (ended || n == len(magic)) && isNumber(version) {
		return fmt.Errorf("%w: it has format %s, and this release reads format %s: build it again with kiln prebuild of the program's release", ErrVersion, version, format)
	}
	return fmt.Errorf("%w: it does not begin with %q", ErrFormat, magic)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

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
	at, present := b.manifest+b.header.Manifest.Size, b.seal.Present
	for i, s := range b.header.Sections {
		if err := s.check(); err != nil {
			return fmt.Errorf("%w: section %d, %q: %w", ErrFormat, i, s.Target, err)
		}
		if i > 0 && s.Target <= b.header.Sections[i-1].Target {
			return fmt.Errorf("%w: section %d, %q, after %q", ErrFormat, i, s.Target, b.header.Sections[i-1].Target)
		}
		next := &section{Section: s, at: -1}
		if len(present) > 0 && present[0] == i {
			next.at, present = at, present[1:]
			if at > math.MaxInt64-s.Size {
				return fmt.Errorf("%w: section %d, %q: %d bytes", ErrFormat, i, s.Target, s.Size)
			}
			at += s.Size
		}
		b.sections = append(b.sections, next)
	}
	if len(present) > 0 {
		return fmt.Errorf("%w: section %d is present, of %d, or is there twice or out of order", ErrFormat, present[0], len(b.sections))
	}
	if at != size {
		return fmt.Errorf("%w: %d bytes, its header says %d: it was cut, or something was added", ErrFormat, size, at)
	}
	return nil
}

// check looks at the numbers of a section.
func (s *Section) check() error {
	switch {
	case s.Entries < 0 || s.Blocks < 0 || s.Index.Size > maxPart || s.Entries > maxPart/recordSize || s.Blocks > maxPart/blockRecordSize ||
		s.Index.Size != int64(s.Entries)*recordSize+int64(s.Blocks)*blockRecordSize:
		return fmt.Errorf("index of %d bytes for %d entries in %d blocks", s.Index.Size, s.Entries, s.Blocks)
	case s.Size < s.Index.Size:
		return fmt.Errorf("%d bytes, less than its index", s.Size)
	}
	return nil
}

// Close closes the file. Others may still use the bundle: what they want that is not in memory
// is an error then, unless all of the bundle is, as [Parse] has it.
func (b *Bundle) Close() error {
	b.blocks.close()
	return b.close()
}

// Name is the name of the file, or what Read was given.
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
// ErrMissing says that it is not there, others what is wrong. Entries share memory, which
// is not to be written.
func (b *Bundle) Get(target string, key cache.Key) (*cache.Entry, error) {
	s := b.section(target)
	if s == nil || s.at < 0 {
		return nil, ErrMissing
	}
	if s.once.Do(func() { s.err = s.load(b.r) }); s.err != nil {
		return nil, fmt.Errorf("bundle %s: section %q: %w", b.name, target, s.err)
	}
	rec, ok := s.find(key)
	if !ok {
		return nil, ErrMissing
	}
	e, err := b.entry(s, rec)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: section %q: entry %.12s: %w", b.name, target, key, err)
	}
	return e, nil
}

// load reads the index.
func (s *section) load(r io.ReaderAt) error {
	index, err := read(r, s.at, s.Index)
	if err != nil {
		return fmt.Errorf("index %w", err)
	}
	s.blocks = make([]block, s.Blocks)
	at := s.at + s.Index.Size
	for i := range s.blocks {
		r := readBlockRecord(index[i*blockRecordSize:])
		if r.size > maxPart {
			return fmt.Errorf("index at byte %d: %w: block of %d bytes, the limit is %d", s.at, ErrFormat, r.size, maxPart)
		}
		s.blocks[i].blockRecord, s.blocks[i].at = r, at
		at += int64(r.size)
	}
	if at != s.at+s.Size {
		return fmt.Errorf("index at byte %d: %w: blocks of %d bytes, the section has room for %d", s.at, ErrFormat, at-s.at-s.Index.Size, s.Size-s.Index.Size)
	}
	s.index = index[s.Blocks*blockRecordSize:]
	return nil
}

func readFull(r io.ReaderAt, out []byte, at int64) error {
	if n, err := r.ReadAt(out, at); n < len(out) {
		return fmt.Errorf("at byte %d: %w", at, err)
	}
	return nil
}

// find returns the record of a key.
func (s *section) find(key cache.Key) (record, bool) {
	at := func(i int) []byte { return s.index[i*recordSize:][:len(key)] }
	i, ok := sort.Find(s.Entries, func(i int) int { return bytes.Compare(key[:], at(i)) })
	if !ok {
		return record{}, false
	}
	return readRecord(s.index[i*recordSize:]), true
}

// read reads a part and compares its hash.
func read(r io.ReaderAt, at int64, p Part) ([]byte, error) {
	out := make([]byte, p.Size)
	if err := readFull(r, out, at); err != nil {
		return nil, err
	}
	if sha256.Sum256(out) != p.SHA256 {
		return nil, fmt.Errorf("at byte %d: %w: its SHA-256 is another", at, ErrFormat)
	}
	return out, nil
}

// entry returns the entry that a record means.
func (b *Bundle) entry(s *section, rec record) (*cache.Entry, error) {
	if int64(rec.block) >= int64(len(s.blocks)) {
		return nil, fmt.Errorf("%w: in block %d of %d", ErrFormat, rec.block, len(s.blocks))
	}
	from := &s.blocks[rec.block].blockRecord
	if rec.at > from.raw || rec.size > from.raw-rec.at {
		return nil, fmt.Errorf("%w: %d bytes at %d of a block of %d", ErrFormat, rec.size, rec.at, from.raw)
	}
	data, err := b.blocks.get(b.r, s.blocks, int(rec.block))
	if err != nil {
		return nil, err
	}
	end := rec.at + rec.size
	return decode(data[rec.at:end:end])
}

// Manifest lists the entries of all sections, those that this copy lacks included.
func (b *Bundle) Manifest() ([]Item, error) {
	m := b.header.Manifest
	packed, err := read(b.r, b.manifest, m)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: manifest %w", b.name, err)
	}
	text, err := expand(packed, m.Raw)
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
	listed, seen := map[string]int{}, map[cache.Key]bool{}
	for _, it := range items {
		if listed[it.Target]++; seen[it.Key] {
			errs = append(errs, fmt.Errorf("bundle %s: %w: the manifest has entry %.12s twice", b.name, ErrFormat, it.Key))
		}
		seen[it.Key] = true
		if b.Has(it.Target) {
			errs = append(errs, b.verify(it))
		}
	}
	for _, s := range b.header.Sections {
		if listed[s.Target] != s.Entries {
			errs = append(errs, fmt.Errorf("bundle %s: %d entries for %q, the manifest has %d", b.name, s.Entries, s.Target, listed[s.Target]))
		}
	}
	for _, s := range b.sections {
		if s.at >= 0 {
			errs = append(errs, b.unnamed(s, items))
		}
	}
	return errors.Join(errs...)
}

// unnamed reports a block of a section that no line of the manifest has an entry in, and
// which therefore nobody has read.
func (b *Bundle) unnamed(s *section, items []Item) error {
	if s.once.Do(func() { s.err = s.load(b.r) }); s.err != nil {
		return fmt.Errorf("bundle %s: section %q: %w", b.name, s.Target, s.err)
	}
	named := make([]bool, len(s.blocks))
	for _, it := range items {
		if rec, ok := s.find(it.Key); ok && it.Target == s.Target && int64(rec.block) < int64(len(named)) {
			named[rec.block] = true
		}
	}
	if i := slices.Index(named, false); i >= 0 {
		return fmt.Errorf("bundle %s: section %q: block %d at byte %d: %w: no entry of the manifest is in it", b.name, s.Target, i, s.blocks[i].at, ErrFormat)
	}
	return nil
}

// verify reads the entry of a line of the manifest, and compares what both say.
func (b *Bundle) verify(it Item) error {
	e, err := b.Get(it.Target, it.Key)
	if err != nil {
		return err
	}
	rec, _ := b.section(it.Target).find(it.Key)
	is := Item{Key: it.Key, Header: e.Header, Size: int(rec.size)}
	if is.Meta = nil; compare(is, it) != 0 || is.Types != it.Types || is.Tool != it.Tool || is.Size != it.Size {
		return fmt.Errorf("bundle %s: %w: entry %.12s is %s of %s, %d bytes, the manifest says %s of %s, %d bytes, or they differ otherwise",
			b.name, ErrFormat, it.Key, e.Kind, e.Kernel, is.Size, it.Kind, it.Kernel, it.Size)
	}
	return nil
}
