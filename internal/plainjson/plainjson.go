package plainjson

import "strings"

// Reader reads a text from its beginning. The strings that it returns are parts of the text.
// After what it cannot read, it reads nothing.
type Reader struct {
	text string
	bad  bool
}

// Read reads a whole text by a function, and reports whether it is of the plain form: if it is
// not, what the function has read means nothing.
func Read(text string, value func(*Reader)) bool {
	r := Reader{text: text}
	value(&r)
	return !r.bad && r.text == ""
}

// Fail makes the text one that is not read here.
func (r *Reader) Fail() { r.text, r.bad = "", true }

// take cuts a prefix off.
func (r *Reader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(r.text, prefix)
	if ok {
		r.text = rest
	}
	return ok
}

func (r *Reader) want(prefix string) {
	if !r.take(prefix) {
		r.Fail()
	}
}

// Object reads an object: field reads the value of each name. A field that is there
// twice is not of the plain form, which field has to see to where that matters.
func (r *Reader) Object(field func(name string)) {
	r.want("{")
	if r.take("}") {
		return
	}
	for !r.bad {
		name := r.String()
		r.want(":")
		if r.bad {
			return
		}
		if field(name); r.take("}") {
			return
		}
		r.want(",")
	}
}

// Array reads an array: element reads each of its values.
func (r *Reader) Array(element func()) {
	r.want("[")
	if r.take("]") {
		return
	}
	for !r.bad {
		if element(); r.take("]") {
			return
		}
		r.want(",")
	}
}

// String reads a string of ASCII without escapes.
func (r *Reader) String() string {
	r.want(`"`)
	for i := range len(r.text) {
		switch c := r.text[i]; {
		case c == '"':
			s := r.text[:i]
			r.text = r.text[i+1:]
			return s
		case c < ' ' || c == '\\' || c >= 0x80:
			r.Fail()
			return ""
		}
	}
	r.Fail()
	return ""
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.take("true") {
		return true
	}
	r.want("false")
	return false
}

// maxDigits is how many digits surely fit into an int.
const maxDigits = 9

// Int reads a whole number of up to nine digits.
func (r *Reader) Int() int {
	negative, n, v := r.take("-"), 0, 0
	for n < len(r.text) && r.text[n] >= '0' && r.text[n] <= '9' {
		v = v*10 + int(r.text[n]-'0')
		if n++; n > maxDigits {
			r.Fail()
			return 0
		}
	}
	if n == 0 || n > 1 && r.text[0] == '0' {
		r.Fail()
		return 0
	}
	if r.text = r.text[n:]; negative {
		return -v
	}
	return v
}
