package ir

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Table is constant data of a module: a Go array that is initialised by constants
// and never assigned.
type Table struct {
	Name string
	Type *Type  // an array; no part of it is a pointer or empty
	Data []byte // as it lies in memory, little-endian
}

// MaxTables bounds the tables of a module together, in bytes: what every target has as
// constant memory.
const MaxTables = 64 << 10

// NewTable returns a table of zeros.
func NewTable(name string, t *Type) (*Table, error) {
	if err := checkTable(name, t); err != nil {
		return nil, err
	}
	return &Table{Name: name, Type: t, Data: make([]byte, t.Size())}, nil
}

func checkTable(name string, t *Type) error {
	if t.Kind != KArray || !tabular(t) {
		return fmt.Errorf("table %q of type %s: wants an array of scalars", name, t)
	}
	if t.Size() > MaxTables {
		return fmt.Errorf("table %q has %d bytes, at most %d are possible", name, t.Size(), MaxTables)
	}
	return nil
}

// tabular reports whether a table may have parts of type t.
func tabular(t *Type) bool {
	switch t.Kind {
	case KArray:
		return t.Len > 0 && tabular(t.Elem)
	case KStruct:
		for _, f := range t.Elems {
			if !tabular(f) {
				return false
			}
		}
		return len(t.Elems) > 0
	}
	return t.Kind >= KBool && t.Kind < KPtr
}

// check reports what is wrong with t.
func (t *Table) check() error {
	if err := checkTable(t.Name, t.Type); err != nil {
		return err
	}
	if len(t.Data) != t.Type.Size() {
		return fmt.Errorf("table %q of type %s has %d bytes of data", t.Name, t.Type, len(t.Data))
	}
	bad := ""
	t.EachLeaf(func(at int, leaf *Type, bits uint64) {
		switch {
		case leaf.Kind == KBool && t.Data[at] > 1:
			bad = "a bool that is neither 0 nor 1"
		case leaf.IsFloat() && isInfOrNaN(leaf, bits): // languages have no literals for them, and Go no constants
			bad = "a float that is not finite"
		}
	})
	if bad != "" {
		return fmt.Errorf("table %q has %s", t.Name, bad)
	}
	return nil
}

func isInfOrNaN(t *Type, bits uint64) bool {
	x := decodeFloat(t, bits)
	return math.IsInf(x, 0) || math.IsNaN(x)
}

// EachLeaf calls yield for every scalar of the table, in order, with its offset and its
// canonical bits.
func (t *Table) EachLeaf(yield func(at int, leaf *Type, bits uint64)) {
	t.Type.EachLeaf(func(at int, leaf *Type) { yield(at, leaf, t.At(at, leaf)) })
}

// At returns the canonical bits of the scalar of type leaf at an offset.
func (t *Table) At(at int, leaf *Type) uint64 {
	var b [8]byte
	copy(b[:leaf.Size()], t.Data[at:])
	return Normalize(leaf, binary.LittleEndian.Uint64(b[:]))
}

// Set sets the scalar of type leaf at an offset.
func (t *Table) Set(at int, leaf *Type, bits uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	copy(t.Data[at:at+leaf.Size()], b[:])
}

// TableLayout returns where the tables begin if they follow each other, each at a multiple of
// 16 bytes, and how many bytes they take together.
func (m *Module) TableLayout() (offsets []int, size int) {
	offsets = make([]int, len(m.Tables))
	for i, t := range m.Tables {
		size = alignUp(size, sharedAlign)
		offsets[i] = size
		size += t.Type.Size()
	}
	return offsets, size
}

// Words returns the data as little-endian words as wide as the alignment of the table in bytes,
// and that width.
func (t *Table) Words() (words []uint64, width int) {
	width = t.Type.Align()
	for at := 0; at < len(t.Data); at += width {
		var b [8]byte
		copy(b[:width], t.Data[at:])
		words = append(words, binary.LittleEndian.Uint64(b[:]))
	}
	return words, width
}
