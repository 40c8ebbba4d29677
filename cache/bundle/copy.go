package bundle

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Copy writes the bundle with the sections that keep says, out of those that are present.
// Its digest and signatures stay; sign adds some.
func (b *Bundle) Copy(out io.Writer, keep func(target string) bool, sign ...ed25519.PrivateKey) error {
	var from []io.Reader
	var have []int
	for i, s := range b.sections {
		if s.at >= 0 && keep(s.Target) {
			from, have = append(from, io.NewSectionReader(b.r, s.at, s.Size)), append(have, i)
		}
	}
	return b.assemble(out, have, from, sign)
}

// Assemble writes a copy whose sections come from elsewhere, by their targets.
func (b *Bundle) Assemble(out io.Writer, sections map[string]io.Reader) error {
	var from []io.Reader
	var have []int
	for i, s := range b.sections {
		if r := sections[s.Target]; r != nil {
			from, have = append(from, r), append(have, i)
		}
	}
	if len(have) != len(sections) {
		return fmt.Errorf("bundle %s: sections for targets that it does not have", b.name)
	}
	return b.assemble(out, have, from, nil)
}

func (b *Bundle) assemble(out io.Writer, have []int, from []io.Reader, keys []ed25519.PrivateKey) error {
	manifest, err := read(b.r, b.manifest, b.header.Manifest)
	if err != nil {
		return fmt.Errorf("bundle %s: manifest %w", b.name, err)
	}
	s := seal{Header: b.digest, Present: have, Signatures: slices.Clone(b.seal.Signatures)}
	for _, key := range keys {
		if add := sign(key, b.digest); !slices.ContainsFunc(s.Signatures, func(x Signature) bool { return slices.Equal(x.Key, add.Key) }) {
			s.Signatures = append(s.Signatures, add)
		}
	}
	if _, err := write(out, b.text, s, [][]byte{manifest}); err != nil {
		return err
	}
	for i, r := range from {
		size := b.sections[have[i]].Size
		n, err := io.Copy(out, io.LimitReader(r, size))
		switch {
		case err != nil:
		case n != size:
			err = fmt.Errorf("%w: %d bytes, want %d", ErrFormat, n, size)
		case !ended(r):
			err = fmt.Errorf("%w: more than %d bytes", ErrFormat, size)
		}
		if err != nil {
			return fmt.Errorf("bundle %s: section %q: %w", b.name, b.sections[have[i]].Target, err)
		}
	}
	return nil
}

// ended reports whether nothing is left to read.
func ended(r io.Reader) bool {
	_, err := io.ReadFull(r, make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// Section returns the bytes of a section that is present: what [Bundle.Assemble] takes.
func (b *Bundle) Section(target string) (*io.SectionReader, error) {
	s := b.section(target)
	if s == nil || s.at < 0 {
		return nil, fmt.Errorf("bundle %s: section %q: %w", b.name, target, ErrMissing)
	}
	return io.NewSectionReader(b.r, s.at, s.Size), nil
}

// Rewrite changes a file of a bundle into a copy of it.
func Rewrite(name string, keep func(target string) bool, sign ...ed25519.PrivateKey) error {
	b, err := Open(name)
	if err != nil {
		return err
	}
	defer b.Close()
	f, err := atomicfile.Create(name, 0o644)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", name, err)
	}
	defer f.Abort()
	if err := b.Copy(f, keep, sign...); err != nil {
		return err
	}
	// A file that is open cannot be replaced everywhere.
	if err := errors.Join(b.Close(), f.Commit()); err != nil {
		return fmt.Errorf("bundle %s: %w", name, err)
	}
	atomicfile.Sweep(name, f.Time())
	return nil
}

// AddBundle adds the entries of a bundle that are present.
func (w *Writer) AddBundle(b *Bundle) error {
	items, err := b.Manifest()
	if err != nil {
		return err
	}
	for _, it := range items {
		if !b.Has(it.Target) {
			continue
		}
		e, err := b.Get(it.Target, it.Key)
		if err != nil {
			return err
		}
		if err := w.Add(it.Key, e); err != nil {
			return err
		}
	}
	return nil
}
