package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor/file"
)

// Difference is what differs between tensors of one name.
type Difference struct {
	Name   string    `json:"name"`
	Only   string    `json:"only,omitempty"`   // the file that alone has it
	Types  [2]string `json:"types,omitzero"`   // if they differ
	Shapes [2][]int  `json:"shapes,omitzero"`  // if they differ
	Count  int       `json:"count,omitempty"`  // elements that differ
	Of     int       `json:"of,omitempty"`     // elements
	MaxAbs float64   `json:"maxAbs,omitempty"` // |x - y| of those that are finite in both
	MaxRel float64   `json:"maxRel,omitempty"` // |x - y| / max(|x|, |y|)
	NotNum int       `json:"notFinite,omitempty"`
	Beyond bool      `json:"beyond,omitempty"` // of the tolerance
	Why    string    `json:"why,omitempty"`    // the values cannot be compared
}

// Tolerance is how much values may differ: |x - y| ≤ Abs + Rel·max(|x|, |y|).
type Tolerance struct {
	Abs, Rel float64
	AnyType  bool // types may differ
}

// Diff compares the tensors of two models, in the order of the first one, then those that only the
// second one has. Tensors that are the same are not in the list.
func Diff(a, b *Model, t Tolerance) ([]Difference, error) {
	var list []Difference
	for x := range a.All() {
		y, err := b.Get(x.Name)
		if err != nil {
			list = append(list, Difference{Name: x.Name, Only: a.Path, Beyond: true})
			continue
		}
		d, same, err := compare(x, y, t)
		if err != nil {
			return nil, err
		}
		if !same {
			list = append(list, d)
		}
	}
	for y := range b.All() {
		if !a.Has(y.Name) {
			list = append(list, Difference{Name: y.Name, Only: b.Path, Beyond: true})
		}
	}
	return list, nil
}

// compare compares two tensors.
func compare(x, y *file.Entry, t Tolerance) (d Difference, same bool, err error) {
	d = Difference{Name: x.Name}
	if !sameType(x, y) {
		d.Types = [2]string{typeName(x), typeName(y)}
		d.Beyond = !t.AnyType
	}
	if !x.Shape().Equal(y.Shape()) {
		d.Shapes = [2][]int{x.Shape(), y.Shape()}
		d.Beyond = true
		return d, false, nil
	}
	for _, e := range []*file.Entry{x, y} {
		if !e.DType.Valid() && !e.Encoding().Quantized() {
			d.Why, d.Beyond = "no element type can hold "+e.Stored, true
			return d, false, nil
		}
	}
	if sameType(x, y) {
		same, err := sameBytes(x, y)
		if same || err != nil {
			return d, same, err
		}
	}
	compare := d.values
	if x.DType.IsInt() && y.DType.IsInt() {
		compare = d.integers
	}
	if err := compare(x, y, t); err != nil {
		if d.Beyond = true; !errors.Is(err, file.ErrUnsupported) {
			return d, false, err
		}
		d.Why = "the values differ or may: " + err.Error()
		return d, false, nil
	}
	return d, d.Count == 0 && d.Types == [2]string{}, nil
}

func sameType(x, y *file.Entry) bool {
	if x.DType.Valid() || y.DType.Valid() {
		return x.DType == y.DType
	}
	return x.Stored == y.Stored
}

// typeName is the element type, or that of the format if there is none.
func typeName(e *file.Entry) string {
	if e.DType.Valid() {
		return e.DType.String()
	}
	return e.Stored
}

// sameBytes compares the elements, without values that are equal and not the same, as 0 and -0.
func sameBytes(x, y *file.Entry) (bool, error) {
	p, err := x.Bytes()
	if err != nil {
		return false, err
	}
	q, err := y.Bytes()
	return bytes.Equal(p, q), err
}

// integers compares values of integer types, exactly, as float64 cannot.
func (d *Difference) integers(x, y *file.Entry, t Tolerance) error {
	d.Of = x.Layout.Count()
	p, err := x.Bytes()
	if err != nil {
		return err
	}
	q, err := y.Bytes()
	if err != nil {
		return err
	}
	for i := range d.Of {
		a, b := integerAt(p, i, x.DType), integerAt(q, i, y.DType)
		if a != b {
			d.differ(a.minus(b), max(float64(a.abs), float64(b.abs)), t)
		}
	}
	return nil
}

// integer is one of any integer type.
type integer struct {
	abs      uint64
	negative bool
}

// integerAt is element i of a type.
func integerAt(b []byte, i int, d dtype.DType) integer {
	var bits [8]byte
	size := d.Size()
	copy(bits[:], b[i*size:(i+1)*size])
	n := dtype.FromBits(d, binary.LittleEndian.Uint64(bits[:])).Int()
	if !d.IsUnsigned() && n < 0 {
		return integer{-uint64(n), true}
	}
	return integer{uint64(n), false}
}

// minus is |a - b|.
func (a integer) minus(b integer) float64 {
	if a.negative != b.negative {
		return float64(a.abs) + float64(b.abs)
	}
	return float64(max(a.abs, b.abs) - min(a.abs, b.abs))
}

// errGivenUp is that of the tensor that is not read further because of an error of the other one.
var errGivenUp = errors.New("comparing was given up")

// values compares values as float64.
func (d *Difference) values(x, y *file.Entry, t Tolerance) error {
	d.Of = x.Layout.Count()
	theirs, stop := make(chan []float64), make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(theirs)
		failed <- Each(y, func(v []float64) error {
			select {
			case theirs <- append([]float64(nil), v...):
				return nil
			case <-stop:
				return errGivenUp
			}
		})
	}()
	var rest []float64
	err := Each(x, func(v []float64) error {
		for _, a := range v {
			if len(rest) == 0 {
				rest = <-theirs
			}
			if len(rest) == 0 {
				return errGivenUp // the other error is why they end
			}
			d.add(a, rest[0], t)
			rest = rest[1:]
		}
		return nil
	})
	close(stop)
	if other := <-failed; other != nil && !errors.Is(other, errGivenUp) {
		return other
	}
	return err
}

// add compares two values. Numbers that are not, as NaN, are the same if both are the same.
func (d *Difference) add(a, b float64, t Tolerance) {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return
	}
	d.differ(math.Abs(a-b), max(math.Abs(a), math.Abs(b)), t)
}

// differ adds two values that differ by so much, the larger one of such a magnitude.
func (d *Difference) differ(abs, most float64, t Tolerance) {
	d.Count++
	if math.IsNaN(abs) || math.IsInf(abs, 0) {
		d.NotNum++
		d.Beyond = true
		return
	}
	d.MaxAbs, d.MaxRel = max(d.MaxAbs, abs), max(d.MaxRel, abs/most)
	d.Beyond = d.Beyond || abs > t.Abs+t.Rel*most
}

// printable is a name without what controls a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}

// String says what differs.
func (d Difference) String() string {
	d.Name, d.Only, d.Why = printable(d.Name), printable(d.Only), printable(d.Why)
	switch {
	case d.Only != "":
		return fmt.Sprintf("%s: only in %s", d.Name, d.Only)
	case d.Shapes[0] != nil || d.Shapes[1] != nil:
		return fmt.Sprintf("%s: shapes %v and %v", d.Name, d.Shapes[0], d.Shapes[1])
	case d.Why != "":
		return d.Name + ": " + d.Why
	}
	text := d.Name + ":"
	if d.Types != [2]string{} {
		text += fmt.Sprintf(" types %s and %s,", d.Types[0], d.Types[1])
	}
	if d.Count == 0 {
		return text + " the same values"
	}
	text += fmt.Sprintf(" %d of %d elements differ, max abs %.6g, max rel %.6g", d.Count, d.Of,
		d.MaxAbs, d.MaxRel)
	if d.NotNum > 0 {
		text += fmt.Sprintf(", %d are not finite", d.NotNum)
	}
	return text
}
