package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"

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
	if err := d.values(x, y, t); err != nil {
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

// values compares values.
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
				return fmt.Errorf("tensor %q: comparing was given up", y.Name)
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
				return fmt.Errorf("tensor %q: values are missing", y.Name)
			}
			d.add(a, rest[0], t)
			rest = rest[1:]
		}
		return nil
	})
	close(stop)
	if other := <-failed; other != nil {
		return other
	}
	return err
}

// add compares two values. Numbers that are not, as NaN, are the same if both are the same.
func (d *Difference) add(a, b float64, t Tolerance) {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return
	}
	d.Count++
	abs, most := math.Abs(a-b), max(math.Abs(a), math.Abs(b))
	if math.IsNaN(abs) || math.IsInf(abs, 0) {
		d.NotNum++
		d.Beyond = true
		return
	}
	d.MaxAbs, d.MaxRel = max(d.MaxAbs, abs), max(d.MaxRel, abs/most)
	d.Beyond = d.Beyond || abs > t.Abs+t.Rel*most
}

// String says what differs.
func (d Difference) String() string {
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
