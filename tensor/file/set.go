package file

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Set is the tensors of a file, or of several, in the order of the file.
type Set struct {
	entries []*Entry
	index   map[string]int
	meta    map[string]string
	closers []io.Closer
}

// NewSet returns a Set without tensors, which closes what is given.
func NewSet(closers ...io.Closer) *Set {
	return &Set{index: map[string]int{}, meta: map[string]string{}, closers: closers}
}

// Own has the Set close something more.
func (s *Set) Own(c io.Closer) { s.closers = append(s.closers, c) }

// Add adds an Entry, whose name must be new.
func (s *Set) Add(e *Entry) error {
	if _, ok := s.index[e.Name]; ok {
		return e.fault(ErrFormat, "there are two tensors of this name")
	}
	s.put(e)
	return nil
}

// put adds or replaces an Entry.
func (s *Set) put(e *Entry) {
	if i, ok := s.index[e.Name]; ok {
		s.entries[i] = e
		return
	}
	s.index[e.Name] = len(s.entries)
	s.entries = append(s.entries, e)
}

// Join returns the tensors and metadata of all sets. Of several with one name the last
// counts. Closing the result closes the sets.
func Join(sets ...*Set) *Set {
	out := NewSet()
	for _, s := range sets {
		for _, e := range s.entries {
			out.put(e)
		}
		maps.Copy(out.meta, s.meta)
		out.Own(s)
	}
	return out
}

// Len is the number of tensors.
func (s *Set) Len() int { return len(s.entries) }

// All goes through the tensors in their order.
func (s *Set) All() iter.Seq[*Entry] { return slices.Values(s.entries) }

// Names is the names in the order of the tensors.
func (s *Set) Names() []string {
	names := make([]string, len(s.entries))
	for i, e := range s.entries {
		names[i] = e.Name
	}
	return names
}

// Has reports whether there is a tensor of a name.
func (s *Set) Has(name string) bool {
	_, ok := s.index[name]
	return ok
}

// Get returns the tensor of a name.
func (s *Set) Get(name string) (*Entry, error) {
	if i, ok := s.index[name]; ok {
		return s.entries[i], nil
	}
	return nil, fmt.Errorf("%w: %q; there are %s", ErrNotFound, name, s.hint(name))
}

// hint names some tensors, at best those whose last word is that of the name.
func (s *Set) hint(name string) string {
	const most = 4
	all := s.Names()
	last := name[strings.LastIndexByte(name, '.')+1:]
	some := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return last == "" || !strings.HasSuffix(n, last) })
	if len(some) == 0 {
		some = all
	}
	if len(all) <= most {
		return fmt.Sprintf("%q", all)
	}
	return fmt.Sprintf("%d, among them %q", len(all), some[:min(most, len(some))])
}

// Metadata is what the file says beside tensors. It must not be changed.
func (s *Set) Metadata() map[string]string { return s.meta }

// Close ends reading from the files. Views stay: see [View].
func (s *Set) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
