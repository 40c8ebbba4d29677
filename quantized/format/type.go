package format

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Type is a format by its id in GGUF files.
type Type uint32

// The formats, by the names and ids of GGUF. Ids that are not here were given up by the field.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q8_1    Type = 9
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	Q8_K    Type = 15
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41
	Q2_0    Type = 42
)

// Errors of this package, for errors.Is.
var (
	ErrType = errors.New("unknown quantized type") // no such id or name
	ErrSize = errors.New("wrong size")             // elements or bytes that are not whole blocks
)

// Importance says what a quantizer does with the importance of columns (an importance matrix,
// "imatrix"): the weights of the squared errors that it makes small.
type Importance uint8

const (
	Ignored  Importance = iota // the bytes do not depend on it
	Optional                   // it is used if it is given
	Required                   // the format cannot be made without it
)

// Info describes a format: its name and id in GGUF files, and the sizes of its blocks.
type Info struct {
	Type    Type
	Name    string     // as the field spells it
	Elems   int        // elements in a block; 1 for plain numbers
	Bytes   int        // bytes of a block
	Partner Type       // the format of the other operand of its integer dot product
	Imatrix Importance // what its quantizer does with the importance of columns

	block Block // nil for plain numbers
}

// Types returns all formats in the order of their ids.
func Types() []Type {
	list := make([]Type, len(table))
	for i := range table {
		list[i] = table[i].Type
	}
	return list
}

// byType are the rows of the table by id.
var byType = func() (rows [64]*Info) {
	for i := range table {
		rows[table[i].Type] = &table[i]
	}
	return rows
}()

// Valid reports whether there is such a format.
func (t Type) Valid() bool { return int64(t) < int64(len(byType)) && byType[t] != nil }

// Info returns the row of a format. It is an error, [ErrType], if there is none of this id.
func (t Type) Info() (Info, error) {
	if !t.Valid() {
		return Info{}, fmt.Errorf("%w: id %d is not in the table of formats", ErrType, uint32(t))
	}
	return *byType[t], nil
}

// String returns the name of the format as the field spells it, such as Q4_K.
func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("Type(%d)", uint32(t))
	}
	return byType[t].Name
}

// Parse returns the format of a name. Case does not matter, nor whether there is an underscore
// before the K of such names as Q4_K.
func Parse(name string) (Type, error) {
	want := plainName(name)
	for i := range table {
		if plainName(table[i].Name) == want {
			return table[i].Type, nil
		}
	}
	return 0, fmt.Errorf("%w: %q; there are %v", ErrType, name, Types())
}

// plainName is a name without case, and without the underscore before a K at the end.
func plainName(s string) string {
	s = strings.ToUpper(s)
	if head, ok := strings.CutSuffix(s, "_K"); ok {
		return head + "K"
	}
	return s
}

// IsQuantized reports whether blocks of the format have more than one element.
func (t Type) IsQuantized() bool { return t.Valid() && byType[t].Elems > 1 }

// RowBytes returns how many bytes a row of n elements has. It is an error, [ErrSize], if n is
// negative, no multiple of the elements of a block, or if the bytes are too many to count.
func (t Type) RowBytes(n int64) (int64, error) {
	info, err := t.Info()
	if err != nil {
		return 0, err
	}
	if n < 0 || n%int64(info.Elems) != 0 {
		return 0, fmt.Errorf("%w: rows of %d elements in %s, which has blocks of %d", ErrSize, n, t, info.Elems)
	}
	blocks := n / int64(info.Elems)
	if blocks > math.MaxInt64/int64(info.Bytes) {
		return 0, fmt.Errorf("%w: a row of %d elements in %s is more than 2⁶³-1 bytes", ErrSize, n, t)
	}
	return blocks * int64(info.Bytes), nil
}
