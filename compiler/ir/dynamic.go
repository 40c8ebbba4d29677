package ir

import (
	"encoding/binary"
	"fmt"
)

// Dynamic returns the shared object whose length a launch decides, nil if there is none.
func (m *Module) Dynamic() *Object {
	if n := len(m.Shared); n > 0 && m.Shared[n-1].Dynamic {
		return m.Shared[n-1]
	}
	return nil
}

// SharedParts returns where the shared objects are in the memory that launches ask for: with all,
// each of them; else the one whose length a launch decides, at the beginning, and -1 for the
// others, which are declared. It is nil if launches ask for no memory.
func (m *Module) SharedParts(all bool) []int {
	offsets, _ := m.SharedLayout()
	switch {
	case all:
		return offsets
	case m.Dynamic() == nil:
		return nil
	}
	for i := range offsets {
		offsets[i] = -1
	}
	offsets[len(offsets)-1] = 0
	return offsets
}

// DynamicLength says where a launch says how many elements the object of [Module.Dynamic] has, nil
// if there is no object whose length is a parameter.
func (m *Module) DynamicLength() *Length {
	f, o := m.Kernel(), m.Dynamic()
	if o == nil || f == nil {
		return nil
	}
	offsets, _ := f.ParamOffsets()
	for i, p := range f.Params {
		if int(p.Imm) == o.Param && p.Type.IsInt() {
			return &Length{Offset: offsets[i], Size: p.Type.Size(), Signed: p.Type.IsSigned(), Elem: o.Type.Elem.Size()}
		}
	}
	return nil
}

// Length is a number of elements in an argument block.
type Length struct {
	Offset int  `json:"offset"`
	Size   int  `json:"size"` // bytes of the number
	Signed bool `json:"signed,omitempty"`
	Elem   int  `json:"elem"` // bytes of an element
}

// MaxDynamic bounds the memory of a block that a launch may ask for. Every device has far less.
const MaxDynamic = 1 << 30

// Bytes returns how much memory the elements take by an argument block. A negative number of them,
// or one that no device has the memory for, is an error.
func (l *Length) Bytes(args []byte) (int, error) {
	var word [8]byte
	copy(word[:], args[l.Offset:l.Offset+l.Size])
	x := binary.LittleEndian.Uint64(word[:])
	shift := 64 - 8*l.Size
	if l.Signed && int64(x<<shift) < 0 {
		return 0, fmt.Errorf("length of dsl.DynamicShared out of range: %d", int64(x<<shift)>>shift)
	}
	if x > uint64(MaxDynamic/max(l.Elem, 1)) {
		return 0, fmt.Errorf("length of dsl.DynamicShared out of range: %d elements of %d bytes", x, l.Elem)
	}
	return int(x) * l.Elem, nil
}
