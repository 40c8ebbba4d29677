package tensor

import (
	"bytes"
	"math"
	"strconv"
)

// style is options of printing, and what only a format verb can ask for.
type style struct {
	PrintOptions
	strides  bool // in the last line
	plus     bool // numbers have a sign
	fixed    bool // numbers have a fraction, also where all are whole
	shortest bool // numbers have the digits that they need
	width    int  // least width of a number
}

// form is how the floats of one tensor are written, all of them alike.
type form struct {
	style
	scientific bool
	whole      bool // no number has a fraction
}

// Numbers that are larger or smaller than these, or that are so many times another one
// of the tensor, are printed with an exponent.
const (
	largest  = 1e8
	smallest = 1e-4
	farApart = 1000
)

// formOf chooses how to write the numbers that are shown.
func formOf(s style, list []number) form {
	f := form{style: s, whole: !s.fixed}
	least, most := math.Inf(1), 0.0
	for _, x := range list {
		if x.float == 0 || !finite(x.float) {
			continue
		}
		least, most = min(least, math.Abs(x.float)), max(most, math.Abs(x.float))
		f.whole = f.whole && math.Trunc(x.float) == x.float
	}
	switch s.Scientific {
	case ScientificOn:
		f.scientific = true
	case ScientificAuto:
		f.scientific = most > 0 && (most/least > farApart || most > largest || least < smallest)
	}
	return f
}

// append appends one number.
func (f *form) append(b []byte, x number) []byte {
	start := len(b)
	switch {
	case f.shortest || x.kind == whole:
		b = x.appendShortest(b)
	case !finite(x.float):
		b = appendSpecial(b, x.float)
	case f.scientific:
		b = appendScientific(b, x.float, f.digits())
	case f.whole:
		b = append(strconv.AppendFloat(b, x.float, 'f', 0, 64), '.')
	default:
		b = strconv.AppendFloat(b, x.float, 'f', f.digits(), 64)
	}
	if f.plus && b[start] != '-' && b[start] != '+' && b[start] != 'N' {
		b = append(b, 0)
		copy(b[start+1:], b[start:])
		b[start] = '+'
	}
	return b
}

// digits is how many there are behind the point: no more than some number has.
func (f *form) digits() int { return min(max(f.Precision, 0), 1074) }

// appendScientific appends a number with an exponent that has no more digits than it
// needs: 1.2500e-5.
func appendScientific(b []byte, x float64, precision int) []byte {
	text := strconv.AppendFloat(nil, x, 'e', precision, 64)
	e := bytes.IndexByte(text, 'e')
	exponent, _ := strconv.Atoi(string(text[e+1:])) // strconv made it
	return strconv.AppendInt(append(b, text[:e+1]...), int64(exponent), 10)
}

// page is a tensor to be formatted.
type page struct {
	*shown
	out   []byte
	cells [][]byte // the numbers
	width int      // of the widest
	line  int      // numbers of a line
}

// append appends the numbers as a matrix.
func (s *shown) append(b []byte, st style) []byte {
	if s.count() == 0 {
		return append(b, "[]"...)
	}
	f := formOf(st, s.numbers)
	p := &page{shown: s, out: b, cells: make([][]byte, len(s.numbers)), width: max(st.width, 0)}
	for i, x := range s.numbers {
		p.cells[i] = f.append(nil, x)
		p.width = max(p.width, len(p.cells[i]))
	}
	p.line = math.MaxInt
	if st.LineWidth > 0 {
		p.line = max(1, st.LineWidth/(p.width+2))
	}
	if len(s.shape) == 0 {
		p.out = append(p.out, '[')
		p.number()
		return append(p.out, ']')
	}
	p.block(0)
	return p.out
}

// count is 0 if there is nothing to print, not even a mark for what is left out.
func (s *shown) count() int {
	n := 1
	for d, size := range s.shape {
		if s.cut[d] {
			size++
		}
		n *= size
	}
	return n
}

// number writes the next number, as wide as all are.
func (p *page) number() {
	for range p.width - len(p.cells[0]) {
		p.out = append(p.out, ' ')
	}
	p.out = append(p.out, p.cells[0]...)
	p.cells = p.cells[1:]
}

// block writes dimension d and those inside of it.
func (p *page) block(d int) {
	p.out = append(p.out, '[')
	inner := d == len(p.shape)-1
	n, mark := p.shape[d], -1
	if p.cut[d] {
		mark = p.edge // where the dots stand
		n++
	}
	for i := range n {
		if i > 0 {
			p.separate(d, inner && i%p.line != 0)
		}
		switch {
		case i == mark:
			p.out = append(p.out, "..."...)
		case inner:
			p.number()
		default:
			p.block(d + 1)
		}
	}
	p.out = append(p.out, ']')
}

// separate begins the next element of dimension d: on the same line, or on a new one.
// There is an empty line between matrices.
func (p *page) separate(d int, same bool) {
	p.out = append(p.out, ',')
	if same {
		p.out = append(p.out, ' ')
		return
	}
	for range max(1, len(p.shape)-1-d) {
		p.out = append(p.out, '\n')
	}
	for range d + 1 {
		p.out = append(p.out, ' ')
	}
}
