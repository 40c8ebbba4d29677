package imatrix

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gokiln/kiln/tensor/file"
)

// Matrix is what was collected of a model.
type Matrix struct {
	Datasets  []string // names of the texts
	Chunks    int      // chunks of the text that the model was run over
	ChunkSize int      // tokens of a chunk, 0 if that is not known
	entries   map[string]*Entry
}

// Entry is what was collected of a weight.
type Entry struct {
	Name   string
	Sums   []float32 // sums of squares of each column, those of each expert behind each other
	Counts []int64   // rows that were added up for each expert; one without experts
}

// Columns is the number of columns of the weight.
func (e *Entry) Columns() int { return len(e.Sums) / max(len(e.Counts), 1) }

// Weights is the importance of each column, those of each expert behind each other: the means of
// the squares, and 1 for an expert that was never chosen.
func (e *Entry) Weights() []float32 {
	w, n := make([]float32, len(e.Sums)), e.Columns()
	for i, s := range e.Sums {
		if count := e.Counts[i/n]; count > 0 {
			w[i] = s / float32(count)
		} else {
			w[i] = 1
		}
	}
	return w
}

// check reports what no weight has.
func (e *Entry) check() error {
	switch {
	case e.Name == "":
		return errors.New("a weight without a name")
	case len(e.Counts) == 0 || len(e.Sums) == 0 || len(e.Sums)%len(e.Counts) != 0:
		return fmt.Errorf("%d sums for %d experts", len(e.Sums), len(e.Counts))
	case slices.Min(e.Counts) < 0:
		return fmt.Errorf("counts %v", e.Counts)
	}
	for i, s := range e.Sums {
		if !(s >= 0 && s <= math.MaxFloat32) {
			n := e.Columns()
			return fmt.Errorf("the sum of column %d of expert %d is %v, want squares", i%n, i/n, s)
		}
	}
	return nil
}

// Len is the number of weights.
func (m *Matrix) Len() int { return len(m.entries) }

// Entries is what was collected of each weight, in order of names.
func (m *Matrix) Entries() []*Entry {
	byName := func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(m.entries), byName)
}

// Get returns what was collected of a weight.
func (m *Matrix) Get(name string) (*Entry, bool) {
	e, ok := m.entries[name]
	return e, ok
}

// Add adds what was collected of a weight, whose name must be new.
func (m *Matrix) Add(e *Entry) error {
	err := e.check()
	if _, twice := m.entries[e.Name]; twice {
		err = errors.New("duplicate weight")
	}
	if err != nil {
		return fmt.Errorf("importance of %q: %w", e.Name, err)
	}
	if m.entries == nil {
		m.entries = map[string]*Entry{}
	}
	m.entries[e.Name] = e
	return nil
}

// fault is an error of a weight.
func fault(src *file.Source, at int64, name string, kind error, format string, args ...any) error {
	f := file.Fault(src.Name(), at, kind, format, args...)
	f.Tensor = name
	return f
}

// sizeOf checks a number that a file has as a float: a count.
func sizeOf(x float32) (int64, bool) {
	return int64(x), x >= 0 && x < math.MaxInt64 && float64(x) == math.Trunc(float64(x))
}
