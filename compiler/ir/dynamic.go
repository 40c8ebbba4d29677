package ir

import "encoding/binary"

// Dynamic returns the shared object whose length a launch decides, nil if there is none.
func (m *Module) Dynamic() *Object {
	if n := len(m.Shared); n > 0 && m.Shared[n-1].Dynamic {
		return m.Shared[n-1]
	}
	return nil
}

// DynamicLength says where a launch says how many elements the object of [Module.Dynamic] has, nil if there
// is no object whose length is a parameter.
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

// Bytes returns how much memory the elements take by an argument block; ok is false for a negative
// number of them or one that no memory has.
func (l *Length) Bytes(args []byte) (n int, ok bool) {
	var word [8]byte
	copy(word[:], args[l.Offset:l.Offset+l.Size])
	x := binary.LittleEndian.Uint64(word[:])
	if shift := 64 - 8*l.Size; l.Signed {
		x = uint64(int64(x<<shift) >> shift)
	}
	const most = 1 << 30
	if x > most {
		return 0, false
	}
	return int(x) * l.Elem, int(x)*l.Elem <= most
}
