package tensor

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
)

// Scientific says when numbers are printed with an exponent.
type Scientific uint8

// The settings of [PrintOptions].Scientific.
const (
	ScientificAuto Scientific = iota // where the numbers of a tensor are large, small, or far apart
	ScientificOn
	ScientificOff
)

// PrintOptions says how the numbers of tensors are printed.
type PrintOptions struct {
	Precision  int        // digits behind the point, up to 1074, which is all that a number can have
	Threshold  int        // a tensor of more elements is printed by its edges; below 0: none is
	EdgeItems  int        // how many indices of a dimension are printed at each edge then
	LineWidth  int        // characters of a line; 0 or less: rows are not broken
	Scientific Scientific // for floating-point types
}

// DefaultPrintOptions are those that a program begins with: 4 digits, edges of 3 beyond
// 1000 elements, lines of 80 characters.
func DefaultPrintOptions() PrintOptions {
	return PrintOptions{Precision: 4, Threshold: 1000, EdgeItems: 3, LineWidth: 80}
}

// ShortPrintOptions are for less: 2 digits and edges of 2.
func ShortPrintOptions() PrintOptions {
	o := DefaultPrintOptions()
	o.Precision, o.EdgeItems = 2, 2
	return o
}

// FullPrintOptions are the default ones without a threshold: all elements are printed.
func FullPrintOptions() PrintOptions {
	o := DefaultPrintOptions()
	o.Threshold = -1
	return o
}

var printOptions atomic.Pointer[PrintOptions] // nil for the default

// CurrentPrintOptions are what [Tensor.String] prints with.
func CurrentPrintOptions() PrintOptions {
	if o := printOptions.Load(); o != nil {
		return *o
	}
	return DefaultPrintOptions()
}

// SetPrintOptions sets what [Tensor.String] prints with, for the whole process:
//
//	o := tensor.CurrentPrintOptions()
//	o.LineWidth = 120
//	tensor.SetPrintOptions(o)
func SetPrintOptions(o PrintOptions) { printOptions.Store(&o) }

// String is the numbers, as a matrix of lines, and a last line with the shape, the
// element type, and the device unless it is the CPU:
//
//	[[1., 2., 3.],
//	 [4., 5., 6.]]
//	Tensor[[2, 3], f32]
//
// It waits for the numbers. Of a large tensor only those that are printed are copied to
// the host. A tensor that holds an error is printed as the error.
func (t *Tensor) String() string { return t.Text(CurrentPrintOptions()) }

// Text is [Tensor.String] with options of its own.
func (t *Tensor) Text(o PrintOptions) string { return t.text(style{PrintOptions: o}) }

// text is the numbers in a style.
func (t *Tensor) text(s style) string {
	if t == nil {
		return "<nil>"
	}
	shown, err := t.shown(s.PrintOptions)
	if err != nil {
		return err.Error()
	}
	return string(shown.append(nil, s)) + "\n" + t.title(s.strides)
}

// title is the last line.
func (t *Tensor) title(strides bool) string {
	line := fmt.Sprintf("Tensor[%v, %s", t.layout.Shape(), t.dtype)
	if strides {
		line += fmt.Sprintf(", strides %s, offset %d", listText(t.layout.Strides()), t.layout.Offset())
	}
	return line + t.place() + "]"
}

// place is the device as the suffix of a line.
func (t *Tensor) place() string { return suffix(t.dev.Name()) }

// suffix is the name of a device behind a comma, and nothing for the CPU.
func suffix(name string) string {
	if kind, _, _ := strings.Cut(name, ":"); kind == "cpu" {
		return ""
	}
	return ", " + name
}

// listText is a list as shapes are printed.
func listText(list []int) string { return Shape(list).String() }

// Format prints the tensor for package fmt:
//
//	%v %s   as String does
//	%+v     with strides and offset in the last line
//	%#v     on one line: see GoString
//	%f %e   with and without an exponent, whatever the options say
//	%g      every number with as many digits as it needs, none of them rounded
//	%d      as %v, for integers
//
// A precision, as in %.2f or %.2v, is that of the options, and a width, as in %10.2f, the
// least width of a number; with a plus sign, as in %+.2f, numbers have a sign.
func (t *Tensor) Format(f fmt.State, verb rune) {
	s := style{PrintOptions: CurrentPrintOptions(), plus: f.Flag('+')}
	switch verb {
	case 'v', 's':
		if f.Flag('#') {
			_, _ = f.Write([]byte(t.GoString()))
			return
		}
		s.strides, s.plus = s.plus, false
	case 'f', 'F':
		s.Scientific = ScientificOff
		s.fixed = true
	case 'e', 'E':
		s.Scientific = ScientificOn
	case 'g', 'G':
		s.shortest = true
	case 'd':
		if t != nil && t.err == nil && !t.dtype.IsInt() {
			badVerb(f, verb, t)
			return
		}
	default:
		badVerb(f, verb, t)
		return
	}
	if p, ok := f.Precision(); ok {
		s.Precision = p
	}
	s.width, _ = f.Width()
	_, _ = f.Write([]byte(t.text(s))) // the error cannot be returned; fmt drops it as well
}

// badVerb writes what package fmt does for a verb that is not for a type.
func badVerb(f fmt.State, verb rune, t *Tensor) {
	_, _ = fmt.Fprintf(f, "%%!%c(%s)", verb, t.GoString())
}

// few is how many elements GoString prints.
const few = 9

// GoString is the tensor on one line, for debugging: up to 9 elements in row-major order,
// or else the shape, then the element type and the device:
//
//	Tensor[1, 2.5, 3; f32]
//	Tensor[dims 16, 128; bf16]
func (t *Tensor) GoString() string {
	if t == nil {
		return "Tensor(nil)"
	}
	if err := t.Err(); err != nil {
		return "Tensor(" + err.Error() + ")"
	}
	end := "; " + t.dtype.String() + t.place() + "]"
	if n := t.Count(); n > few || n == 0 || t.Rank() > 1 {
		return "Tensor[dims " + strings.Trim(t.layout.Shape().String(), "[]") + end
	}
	all, err := t.shown(FullPrintOptions())
	if err != nil {
		return "Tensor(" + err.Error() + ")"
	}
	list := make([]string, len(all.numbers))
	for i, x := range all.numbers {
		list[i] = string(x.appendShortest(nil))
	}
	return "Tensor[" + strings.Join(list, ", ") + end
}

// LogValue is the shape, the element type and the device, or the error. No element is
// read: logging does not wait for a device.
func (t *Tensor) LogValue() slog.Value {
	if err := t.Err(); err != nil {
		return slog.GroupValue(slog.String("error", err.Error()))
	}
	return slog.GroupValue(slog.String("shape", t.layout.Shape().String()), slog.String("dtype", t.dtype.String()), slog.String("device", t.dev.Name()))
}
