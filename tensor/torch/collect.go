package torch

import (
	"fmt"
	"strconv"

	"github.com/gokiln/kiln/tensor/file"
)

// Limits on what a short program can expand to, which refers to one value
// many times.
const (
	maxDepth   = 100
	maxNodes   = 1 << 20 // dictionaries, lists and tuples
	maxValues  = 1 << 26
	maxName    = 1 << 10
	maxTensors = 1 << 20
	maxSizes   = 1 << 22 // dimensions of all tensors
)

// collector makes entries of the tensors in a value.
type collector struct {
	set    *file.Set
	path   string // of the program, in errors
	name   string // of the file
	big    bool   // the byte order of storages
	place  func(*storage) (file.Blob, int64, error)
	budget *budget // for entries

	nodes, values, sizes int
}

func (c *collector) fault(at int64, kind error, format string, args ...any) error {
	return file.Fault(c.path, at, kind, format, args...)
}

// collect goes down by keys, and from there through everything.
func (c *collector) collect(root any, keys []string) (*file.Set, error) {
	name := ""
	for i, k := range keys {
		d, ok := root.(*dict)
		if !ok {
			return nil, c.fault(-1, file.ErrNotFound, "key %q: below keys %q is %s, not a dict", k, keys[:i], kindOf(root))
		}
		if root, ok = d.get(k); !ok {
			return nil, c.fault(-1, file.ErrNotFound, "key %q: below keys %q are %s", k, keys[:i], keysOf(d))
		}
		if _, ok := root.(*tensor); ok {
			name = k
		}
	}
	if err := c.walk(name, root, 0); err != nil {
		return nil, err
	}
	return c.set, nil
}

// keysOf names some keys.
func keysOf(d *dict) string {
	const most = 8
	text := ""
	for i, k := range d.keys {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(d.keys)-most)
		}
		if i > 0 {
			text += ", "
		}
		if s, ok := k.(string); ok {
			text += strconv.Quote(s)
		} else {
			text += kindOf(k)
		}
	}
	return text
}

// walk adds the tensors in a value.
func (c *collector) walk(name string, v any, depth int) error {
	switch v := v.(type) {
	case *tensor:
		return c.add(name, v)
	case *dict:
		for i, k := range v.keys {
			if err := c.child(name, k, v.values[i], depth); err != nil {
				return err
			}
		}
	case *list:
		return c.items(name, v.items, depth)
	case tuple:
		return c.items(name, v, depth)
	}
	return nil
}

func (c *collector) items(name string, items []any, depth int) error {
	for i, v := range items {
		if err := c.child(name, int64(i), v, depth); err != nil {
			return err
		}
	}
	return nil
}

// child goes into a value that has a key, if there can be tensors in it.
func (c *collector) child(name string, key, v any, depth int) error {
	switch v.(type) {
	case *tensor:
	case *dict, *list, tuple:
		c.nodes++
	default:
		if c.values++; c.values <= maxValues {
			return nil
		}
	}
	if c.nodes > maxNodes || c.values > maxValues {
		return c.fault(-1, file.ErrUnsupported, "more than %d lists and dicts, or %d other values; open a part by its key", maxNodes, maxValues)
	}
	if depth == maxDepth {
		return c.fault(-1, file.ErrUnsupported, "values within each other more than %d times, at %.100s", maxDepth, name)
	}
	var text string
	switch k := key.(type) {
	case string:
		text = k
	case int64:
		text = strconv.FormatInt(k, 10)
	default:
		before := c.set.Len()
		err := c.walk(name, v, depth+1)
		if err == nil && c.set.Len() > before {
			err = c.fault(-1, file.ErrUnsupported, "in %.100q a key is %s, of which no name can be made", name, kindOf(key))
		}
		return err
	}
	if name != "" {
		text = name + "." + text
	}
	if len(text) > maxName {
		return c.fault(-1, file.ErrUnsupported, "a name of more than %d bytes, beginning with %.100q", maxName, text)
	}
	return c.walk(text, v, depth+1)
}

// entryBytes is about what an entry takes without its name and sizes.
const entryBytes = 512

// add adds a tensor.
func (c *collector) add(name string, t *tensor) error {
	fault := func(at int64, kind error, format string, args ...any) error {
		f := file.Fault(c.path, at, kind, format, args...)
		f.Tensor = name
		return f
	}
	if c.sizes += len(t.shape); c.sizes > maxSizes || c.set.Len() == maxTensors {
		return fault(t.at, file.ErrUnsupported, "more than %d tensors, or of more than %d dimensions together; open a part by its key", maxTensors, maxSizes)
	}
	if !c.budget.take(entryBytes + len(name) + 4*inTuple*len(t.shape)) {
		return fault(t.at, file.ErrUnsupported, "%s", c.budget)
	}
	shape, ok1 := ints(t.shape)
	stride, ok2 := ints(t.stride)
	if !ok1 || !ok2 {
		return fault(t.at, file.ErrFormat, "sizes and strides must be integers")
	}
	blob, at, err := c.blob(t.storage)
	if err != nil {
		return fault(t.storage.at, file.ErrFormat, "storage %q: %v", t.storage.key, err)
	}
	e := dtypes[t.elem].enc
	if e.Name, e.Big = "torch."+t.elem, c.big; t.lazy != "" {
		e = file.Encoding{Name: e.Name + " with pending " + t.lazy}
	}
	entry, err := file.New(file.Spec{Name: name, Encoding: e, Shape: shape, Strides: stride, Skip: int(t.offset), Blob: blob, Path: c.name, Offset: at})
	if err != nil {
		return err
	}
	return c.set.Add(entry)
}

// ints returns a tuple of integers.
func ints(t tuple) ([]int, bool) {
	out := make([]int, len(t))
	for i, x := range t {
		n, ok := x.(int64)
		if !ok {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
}

// blob returns the bytes of a storage, or of the view that it is, and where they are.
func (c *collector) blob(s *storage) (file.Blob, int64, error) {
	blob, at, err := c.place(s)
	if err != nil {
		return nil, 0, err
	}
	per := int64(dtypes[s.elem].size)
	if s.count > blob.Size()/per {
		return nil, 0, fmt.Errorf("%d elements of %d bytes, and there are %d bytes", s.count, per, blob.Size())
	}
	if s.limit < 0 {
		return blob, at, nil
	}
	skip := s.skip * per
	if at >= 0 {
		at += skip
	}
	return part{blob, skip, s.limit * per}, at, nil
}

// part is a part of a Blob.
type part struct {
	file.Blob
	off, size int64
}

func (p part) Size() int64 { return p.size }

func (p part) View(off, n int64) (*file.View, error) {
	if off < 0 || n < 0 || off > p.size-n {
		return nil, fmt.Errorf("%w: %d bytes from byte %d of %d", file.ErrTruncated, n, off, p.size)
	}
	return p.Blob.View(p.off+off, n)
}
