package bundle

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/internal/atomicfile"
)

// Writer collects entries and writes them as a bundle. The zero value is ready.
type Writer struct {
	Compiler string               // for the header
	Sign     []ed25519.PrivateKey // who signs

	targets map[string]map[cache.Key][]byte // entries, encoded
	items   map[cache.Key]Item
}

// Add adds an entry to the section of its target. Adding the same entry again changes
// nothing; another one under the same key is an error.
func (w *Writer) Add(key cache.Key, e *cache.Entry) error {
	data, err := encode(e)
	if err != nil {
		return fmt.Errorf("bundle: entry %.12s: %w", key, err)
	}
	if len(data) > maxPart {
		return fmt.Errorf("bundle: entry %.12s of %s: %d bytes, the limit is %d", key, e.Kernel, len(data), maxPart)
	}
	if have, ok := w.items[key]; ok {
		if !bytes.Equal(w.targets[have.Target][key], data) {
			return fmt.Errorf("bundle: two entries of %s for %s under key %.12s that differ: compiling it is not deterministic", e.Kernel, e.Target, key)
		}
		return nil
	}
	if w.targets == nil {
		w.targets, w.items = map[string]map[cache.Key][]byte{}, map[cache.Key]Item{}
	}
	if w.targets[e.Target] == nil {
		w.targets[e.Target] = map[cache.Key][]byte{}
	}
	w.targets[e.Target][key] = data
	w.items[key] = Item{Key: key, Header: e.Header, Size: len(data)}
	return nil
}

// Len is how many entries there are.
func (w *Writer) Len() int { return len(w.items) }

// Items lists the entries, in the order of the manifest.
func (w *Writer) Items() []Item { return slices.SortedFunc(maps.Values(w.items), compare) }

// WriteTo writes the bundle.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	head := Header{Compiler: w.Compiler, Sections: []Section{}}
	manifest, err := w.manifest()
	if err != nil {
		return 0, err
	}
	head.Manifest = part(manifest.packed, manifest.raw)
	body, s := [][]byte{manifest.packed}, seal{}
	for i, t := range slices.Sorted(maps.Keys(w.targets)) {
		section, parts, err := pack(t, w.targets[t], w.items)
		if err != nil {
			return 0, err
		}
		head.Sections = append(head.Sections, section)
		body = append(body, parts...)
		s.Present = append(s.Present, i)
	}
	text, err := line(head)
	if err != nil {
		return 0, err
	}
	s.Header = sha256.Sum256(text)
	for _, key := range w.Sign {
		s.Signatures = append(s.Signatures, sign(key, s.Header))
	}
	return write(out, text, s, body)
}

// write writes the file of a bundle.
func write(out io.Writer, header []byte, s seal, body [][]byte) (n int64, err error) {
	sealed, err := line(s)
	if err != nil {
		return 0, err
	}
	for _, b := range append([][]byte{[]byte(magic), header, sealed}, body...) {
		m, err := out.Write(b)
		if n += int64(m); err != nil {
			return n, fmt.Errorf("writing bundle: %w", err)
		}
	}
	return n, nil
}

// WriteFile writes the bundle to a file, which appears whole or not at all.
func (w *Writer) WriteFile(name string) error {
	err := atomicfile.Write(name, 0o644, func(f io.Writer) error { _, err := w.WriteTo(f); return err })
	if err != nil {
		return fmt.Errorf("bundle %s: %w", name, err)
	}
	return nil
}

type packed struct {
	packed []byte
	raw    int
}

func part(b []byte, raw int) Part {
	return Part{Size: int64(len(b)), Raw: int64(raw), SHA256: sha256.Sum256(b)}
}

// manifest lists the entries in an order that a person can read.
func (w *Writer) manifest() (packed, error) {
	var text bytes.Buffer
	items := w.Items()
	for i := range items {
		items[i].Meta = nil // it is in the entry
		l, err := line(items[i])
		if err != nil {
			return packed{}, err
		}
		text.Write(l)
	}
	enc, err := compressor()
	if err != nil {
		return packed{}, err
	}
	return packed{enc.EncodeAll(text.Bytes(), nil), text.Len()}, nil
}

// compare orders entries by what they are.
func compare(a, b Item) int {
	for _, p := range [][2]string{{a.Target, b.Target}, {a.Kernel, b.Kernel}, {a.Kind, b.Kind}, {a.Format, b.Format}, {a.Build, b.Build}} {
		if c := strings.Compare(p[0], p[1]); c != 0 {
			return c
		}
	}
	return bytes.Compare(a.Key[:], b.Key[:])
}

// pack compresses the entries of a target.
func pack(target string, files map[cache.Key][]byte, items map[cache.Key]Item) (Section, [][]byte, error) {
	order := slices.SortedFunc(maps.Keys(files), func(a, b cache.Key) int { return near(items[a], items[b]) })
	enc, err := compressor()
	if err != nil {
		return Section{}, nil, err
	}
	var parts [][]byte // the first is the index
	var blocks, index []byte
	var size int64
	records := make([]record, 0, len(order))
	parts = append(parts, nil)
	for group := range together(order, files) {
		var raw []byte
		for _, k := range group {
			records = append(records, record{key: k, block: uint32(len(parts) - 1), at: uint32(len(raw)), size: uint32(len(files[k]))})
			raw = append(raw, files[k]...)
		}
		b := enc.EncodeAll(raw, nil)
		if len(b) > maxPart {
			return Section{}, nil, fmt.Errorf("bundle: target %s: entry %.12s: %d bytes", target, group[0], len(b))
		}
		r := blockRecord{sum: sha256.Sum256(b), size: uint32(len(b)), raw: uint32(len(raw))}
		blocks, parts, size = r.append(blocks), append(parts, b), size+int64(len(b))
	}
	slices.SortFunc(records, func(a, b record) int { return bytes.Compare(a.key[:], b.key[:]) })
	for i := range records {
		index = records[i].append(index)
	}
	parts[0] = append(blocks, index...)
	s := Section{Target: target, Entries: len(records), Blocks: len(parts) - 1, Index: part(parts[0], 0)}
	s.Size = s.Index.Size + size
	return s, parts, nil
}

// near orders entries so that those a program uses together are together: of the same kind
// and build. Text, which is not read where there is machine code, is apart from that.
func near(a, b Item) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Format, b.Format), strings.Compare(a.Build, b.Build), compare(a, b))
}

// together divides entries into those that are compressed together: as many as a block has
// room for, or one.
func together(order []cache.Key, files map[cache.Key][]byte) iter.Seq[[]cache.Key] {
	return func(yield func([]cache.Key) bool) {
		for len(order) > 0 {
			n, size := 1, len(files[order[0]])
			for n < len(order) && size+len(files[order[n]]) <= blockSize {
				size, n = size+len(files[order[n]]), n+1
			}
			if !yield(order[:n]) {
				return
			}
			order = order[n:]
		}
	}
}
