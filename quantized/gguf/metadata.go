package gguf

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Errors of metadata, for errors.Is.
var (
	ErrKey   = errors.New("no such key")
	ErrValue = errors.New("a value of another type")
)

// Keys that this package knows the meaning of.
const (
	KeyAlignment    = "general.alignment" // u32: tensors begin at multiples of it, 32 without
	KeyArchitecture = "general.architecture"
	keySplitNo      = "split.no"            // u16: which file of a model, from 0
	keySplitCount   = "split.count"         // u16: how many files there are
	keySplitTensors = "split.tensors.count" // i32: tensors in all of them
)

// Metadata is the keys of a file and their values, in order. The zero Metadata has none.
type Metadata struct {
	keys   []string
	values map[string]Value
}

// Len is the number of keys.
func (m *Metadata) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// All goes through keys and values in their order, without keys that are deleted meanwhile before
// their turn; keys that are new meanwhile do not get one.
func (m *Metadata) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if m == nil {
			return
		}
		for _, k := range slices.Clone(m.keys) {
			if v, ok := m.values[k]; ok && !yield(k, v) {
				return
			}
		}
	}
}

// Value returns the value of a key.
func (m *Metadata) Value(key string) (Value, bool) {
	if m == nil {
		return Value{}, false
	}
	v, ok := m.values[key]
	return v, ok
}

// Set gives a key a value. A key that is new comes last. The Metadata must not be nil.
func (m *Metadata) Set(key string, v Value) {
	if m.values == nil {
		m.values = map[string]Value{}
	}
	if _, ok := m.values[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.values[key] = v
}

// Delete removes a key, and reports whether it was there.
func (m *Metadata) Delete(key string) bool {
	if m == nil {
		return false
	}
	i := slices.Index(m.keys, key)
	if i < 0 {
		return false
	}
	m.keys = slices.Delete(m.keys, i, i+1)
	delete(m.values, key)
	return true
}

// Clone returns a copy, which can be changed.
func (m *Metadata) Clone() *Metadata {
	out := &Metadata{}
	for k, v := range m.All() {
		out.Set(k, v)
	}
	return out
}

// Get returns the value of a key as a Go type, as [As] does. That there is no such key is an error
// of kind [ErrKey], that the value has another type one of kind [ErrValue].
func Get[T Scalar](m *Metadata, key string) (T, error) {
	v, ok := m.Value(key)
	if !ok {
		return *new(T), missing(key)
	}
	x, err := As[T](v)
	if err != nil {
		return x, fmt.Errorf("metadata %q: %w", key, err)
	}
	return x, nil
}

// GetList returns the elements of the array of a key, as [ListAs] does.
func GetList[T Scalar](m *Metadata, key string) ([]T, error) {
	v, ok := m.Value(key)
	if !ok {
		return nil, missing(key)
	}
	x, err := ListAs[T](v)
	if err != nil {
		return nil, fmt.Errorf("metadata %q: %w", key, err)
	}
	return x, nil
}

func missing(key string) error { return fmt.Errorf("metadata: %w: %q", ErrKey, key) }

// defaultAlignment is that of a file that does not say.
const defaultAlignment = 32

// MaxAlignment is the largest general.alignment that is written: padding takes as many bytes.
const MaxAlignment = 1 << 24

// writtenAlignment is the alignment of a file that is to be written.
func (m *Metadata) writtenAlignment() (int64, error) {
	n, err := m.alignment()
	switch {
	case err != nil:
		return 0, fmt.Errorf("metadata: %w: %w", ErrValue, err)
	case n > MaxAlignment:
		return 0, fmt.Errorf("metadata: %w: %s is %d, want %d at most; without the key it is %d",
			ErrValue, KeyAlignment, n, MaxAlignment, defaultAlignment)
	}
	return n, nil
}

// alignment is what tensors begin at multiples of.
func (m *Metadata) alignment() (int64, error) {
	v, ok := m.Value(KeyAlignment)
	switch n := v.bits; {
	case !ok:
		return defaultAlignment, nil
	case v.typ != Uint32:
		return 0, fmt.Errorf("%s is of type %s, want u32", KeyAlignment, v.typ)
	case n == 0 || n&(n-1) != 0:
		return 0, fmt.Errorf("%s is %d, want a power of 2", KeyAlignment, n)
	}
	return int64(v.bits), nil
}
