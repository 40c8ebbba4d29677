package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Kind is the class of a [Type].
type Kind uint8

// The kinds. F16 and BF16 are storage formats: they can be loaded, stored,
// selected, passed to blocks and converted, never computed with.
const (
	KVoid Kind = iota
	KBool
	KI8
	KU8
	KI16
	KU16
	KI32
	KU32
	KI64
	KU64
	KF16
	KBF16
	KF32
	KF64
	KPtr
	KArray
	KStruct
	KTuple
)

// Space is the address space of a pointer.
type Space uint8

// The address spaces.
const (
	Global   Space = iota // device memory, visible to every thread
	Shared                // one object per block
	Local                 // private to one thread
	Constant              // the tables of the module, which nobody writes

	NumSpaces
)

var spaceNames = [NumSpaces]string{Global: "global", Shared: "shared", Local: "local", Constant: "constant"}

func (s Space) String() string { return spaceNames[s] }

// Type is an IR type. Types are interned: equal types are the same pointer.
type Type struct {
	Kind  Kind
	Space Space   // KPtr
	Elem  *Type   // KPtr, KArray
	Len   int     // KArray
	Elems []*Type // KStruct fields, KTuple results

	name  string
	size  int
	align int
	offs  []int // KStruct field offsets
}

var basicNames = [...]string{
	KVoid: "void", KBool: "bool", KI8: "i8", KU8: "u8", KI16: "i16", KU16: "u16", KI32: "i32", KU32: "u32",
	KI64: "i64", KU64: "u64", KF16: "f16", KBF16: "bf16", KF32: "f32", KF64: "f64",
}

func basic(k Kind, size int) *Type {
	return &Type{Kind: k, name: basicNames[k], size: size, align: max(size, 1)}
}

// The scalar types. Go's int is I64, uint and uintptr are U64.
var (
	Void = basic(KVoid, 0)
	Bool = basic(KBool, 1)
	I8   = basic(KI8, 1)
	U8   = basic(KU8, 1)
	I16  = basic(KI16, 2)
	U16  = basic(KU16, 2)
	I32  = basic(KI32, 4)
	U32  = basic(KU32, 4)
	I64  = basic(KI64, 8)
	U64  = basic(KU64, 8)
	F16  = basic(KF16, 2)
	BF16 = basic(KBF16, 2)
	F32  = basic(KF32, 4)
	F64  = basic(KF64, 8)
)

// Scalars lists the scalar types in order of [Kind].
var Scalars = []*Type{Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64}

var interned sync.Map // name -> *Type

func intern(t *Type) *Type {
	got, _ := interned.LoadOrStore(t.name, t)
	return got.(*Type)
}

// PtrTo returns the type of a pointer to elem in space s.
func PtrTo(s Space, elem *Type) *Type {
	return intern(&Type{
		Kind: KPtr, Space: s, Elem: elem, size: 8, align: 8,
		name: "ptr<" + s.String() + "," + elem.name + ">",
	})
}

// ArrayOf returns the type of an array of n elements.
func ArrayOf(n int, elem *Type) *Type {
	return intern(&Type{
		Kind: KArray, Len: n, Elem: elem, size: n * elem.size, align: elem.align,
		name: "[" + strconv.Itoa(n) + "]" + elem.name,
	})
}

// StructOf returns the type of a struct laid out by Go's rules for a 64-bit
// target: each field at its natural alignment, the size padded to the largest.
func StructOf(fields ...*Type) *Type {
	t := &Type{Kind: KStruct, Elems: fields, align: 1, name: listName("{", fields, "}")}
	for _, f := range fields {
		t.align = max(t.align, f.align)
		t.size = alignUp(t.size, f.align)
		t.offs = append(t.offs, t.size)
		t.size += f.size
	}
	if t.size > 0 && fields[len(fields)-1].size == 0 {
		t.size++ // in Go a pointer to the last field does not point behind the struct
	}
	t.size = alignUp(t.size, t.align)
	return intern(t)
}

// TupleOf returns the type of a call with several results.
func TupleOf(elems ...*Type) *Type {
	return intern(&Type{Kind: KTuple, Elems: elems, name: listName("(", elems, ")")})
}

func listName(open string, ts []*Type, end string) string {
	var b strings.Builder
	b.WriteString(open)
	for i, t := range ts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(t.name)
	}
	b.WriteString(end)
	return b.String()
}

func alignUp(n, a int) int { return (n + a - 1) / a * a }

func (t *Type) String() string { return t.name }

// Size returns the size in bytes in memory.
func (t *Type) Size() int { return t.size }

// Align returns the alignment in bytes in memory.
func (t *Type) Align() int { return t.align }

// Bits returns the width of a scalar in bits; 1 for bool.
func (t *Type) Bits() int {
	if t.Kind == KBool {
		return 1
	}
	return t.size * 8
}

// Offset returns the byte offset of field i of a struct.
func (t *Type) Offset(i int) int { return t.offs[i] }

// Value returns the Go value that the canonical bits of a constant of type t stand
// for: a bool, or a number of the type's width; halves as float32.
func (t *Type) Value(bits uint64) any {
	switch t.Kind {
	case KBool:
		return bits != 0
	case KI8:
		return int8(bits)
	case KU8:
		return uint8(bits)
	case KI16:
		return int16(bits)
	case KU16:
		return uint16(bits)
	case KI32:
		return int32(bits)
	case KU32:
		return uint32(bits)
	case KI64:
		return int64(bits)
	case KF64:
		return math.Float64frombits(bits)
	case KF16, KBF16, KF32:
		return float32(decodeFloat(t, bits))
	}
	return bits
}

// IsInt reports whether t is an integer type.
func (t *Type) IsInt() bool { return t.Kind >= KI8 && t.Kind <= KU64 }

// IsSigned reports whether t is a signed integer type.
func (t *Type) IsSigned() bool {
	return t.Kind == KI8 || t.Kind == KI16 || t.Kind == KI32 || t.Kind == KI64
}

// IsFloat reports whether t is a floating-point type that has arithmetic.
func (t *Type) IsFloat() bool { return t.Kind == KF32 || t.Kind == KF64 }

// IsHalf reports whether t is one of the 16-bit storage formats.
func (t *Type) IsHalf() bool { return t.Kind == KF16 || t.Kind == KBF16 }

// IsPtr reports whether t is a pointer.
func (t *Type) IsPtr() bool { return t.Kind == KPtr }

// IsValue reports whether a [Value] may have type t: a scalar or a pointer.
func (t *Type) IsValue() bool { return t.Kind >= KBool && t.Kind <= KPtr }

// ParseType parses the text form of a type.
func ParseType(s string) (*Type, error) {
	p := &typeParser{s: s}
	t, err := p.parse()
	if err == nil && p.s != "" {
		err = fmt.Errorf("unexpected %q after type", p.s)
	}
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", s, err)
	}
	return t, nil
}

type typeParser struct {
	s     string
	depth int
}

const maxTypeDepth = 64 // a damaged text must not exhaust the stack

func (p *typeParser) parse() (*Type, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxTypeDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxTypeDepth)
	}
	switch {
	case p.accept("ptr<"):
		return p.parsePtr()
	case p.accept("["):
		return p.parseArray()
	case p.accept("{"):
		fields, err := p.parseList("}")
		if err != nil {
			return nil, err
		}
		return StructOf(fields...), nil
	case p.accept("("):
		elems, err := p.parseList(")")
		if err != nil {
			return nil, err
		}
		return TupleOf(elems...), nil
	}
	end := 0
	for end < len(p.s) && (p.s[end] >= 'a' && p.s[end] <= 'z' || p.s[end] >= '0' && p.s[end] <= '9') {
		end++
	}
	name := p.s[:end]
	p.s = p.s[end:]
	if name == "void" {
		return Void, nil
	}
	for _, t := range Scalars {
		if t.name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown type name %q", name)
}

func (p *typeParser) accept(prefix string) bool {
	rest, ok := strings.CutPrefix(p.s, prefix)
	if ok {
		p.s = rest
	}
	return ok
}

func (p *typeParser) parsePtr() (*Type, error) {
	for i, n := range spaceNames {
		if p.accept(n + ",") {
			elem, err := p.parse()
			if err != nil {
				return nil, err
			}
			if !p.accept(">") {
				return nil, fmt.Errorf("expected > at %q", p.s)
			}
			return PtrTo(Space(i), elem), nil
		}
	}
	return nil, fmt.Errorf("unknown address space at %q", p.s)
}

// maxObject bounds one array so that a damaged text cannot overflow sizes.
const maxObject = 1<<31 - 1

func (p *typeParser) parseArray() (*Type, error) {
	num, rest, ok := strings.Cut(p.s, "]")
	if !ok {
		return nil, fmt.Errorf("expected ] at %q", p.s)
	}
	n, err := strconv.Atoi(num)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("bad array length %q", num)
	}
	p.s = rest
	elem, err := p.parse()
	if err != nil {
		return nil, err
	}
	if n > maxObject/max(elem.size, 1) {
		return nil, fmt.Errorf("array of %d elements is too large", n)
	}
	return ArrayOf(n, elem), nil
}

func (p *typeParser) parseList(end string) ([]*Type, error) {
	var ts []*Type
	if p.accept(end) {
		return nil, nil
	}
	for {
		t, err := p.parse()
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
		if p.accept(end) {
			return ts, nil
		}
		if !p.accept(",") {
			return nil, fmt.Errorf("expected , or %s at %q", end, p.s)
		}
	}
}
