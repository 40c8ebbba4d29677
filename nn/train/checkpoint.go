package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// ErrCheckpoint is the kind of error of a file that is no checkpoint, or one of another run.
var ErrCheckpoint = errors.New("checkpoint")

// Stateful is what has tensors to be saved, by names that stay the same, such as an optimiser. Load
// is given what State has returned, on the device of the checkpoint.
type Stateful interface {
	State() (map[string]*tensor.Tensor, error)
	Load(state map[string]*tensor.Tensor) error
}

// Seeker is what has a position, such as a [data.Loader].
type Seeker interface {
	Position() data.Position
	Seek(p data.Position) error
}

// Checkpoint is a training run with all that it depends on. Device is needed; what else is nil is
// left out.
type Checkpoint struct {
	Step      int                 // steps that are done
	Model     any                 // a network, see [nn.List]
	Optimizer Stateful            // of the network's parameters
	Others    map[string]Stateful // averages of parameters, and the like
	Loader    Seeker
	Device    *tensor.Device    // of the network, whose random numbers go on
	Notes     map[string]string // what else a program wants to keep
}

// record is what is saved beside tensors.
type record struct {
	Version int                `json:"version"`
	Step    int                `json:"step"`
	Random  tensor.RandomState `json:"random"`
	Loader  *data.Position     `json:"loader,omitempty"`
	Notes   map[string]string  `json:"notes,omitempty"`
}

const (
	version = 1
	key     = "kiln.checkpoint" // of the record in the file's metadata
)

// part is a part of the run whose tensors have a prefix.
type part struct {
	prefix string
	Stateful
}

// parts are the optimiser and the others, in order.
func (c *Checkpoint) parts() (list []part) {
	if c.Optimizer != nil {
		list = append(list, part{"optimizer", c.Optimizer})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Others)) {
		list = append(list, part{"others." + name, c.Others[name]})
	}
	return list
}

func (c *Checkpoint) check() error {
	switch {
	case c.Device == nil:
		return fmt.Errorf("%w: no device", tensor.ErrArgument)
	case c.Step < 0:
		return fmt.Errorf("%w: step %d", tensor.ErrArgument, c.Step)
	}
	for name, s := range c.Others {
		if s == nil {
			return fmt.Errorf("%w: %q in Others is nil", tensor.ErrArgument, name)
		}
		if name == "" || strings.Contains(name, ".") {
			return fmt.Errorf("%w: %q is no name in Others: it must not be empty, nor have dots", tensor.ErrArgument, name)
		}
	}
	return nil
}

// Save writes the run into a file, which replaces one of the name when it is whole.
func (c *Checkpoint) Save(path string) error {
	err := c.check()
	if err == nil {
		err = c.save(path)
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return nil
}

func (c *Checkpoint) save(path string) error {
	r := record{Version: version, Step: c.Step, Random: c.Device.RandomState(), Notes: c.Notes}
	if c.Loader != nil {
		at := c.Loader.Position()
		r.Loader = &at
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	entries, err := c.entries()
	if err != nil {
		return err
	}
	return safetensors.WriteFile(path, map[string]string{key: string(text)}, entries...)
}

// entries are all tensors of the run.
func (c *Checkpoint) entries() ([]*file.Entry, error) {
	all := map[string]*tensor.Tensor{}
	add := func(prefix string, state map[string]*tensor.Tensor) {
		for name, t := range state {
			all[prefix+"."+name] = t
		}
	}
	if c.Model != nil {
		state, err := nn.State(c.Model)
		if err != nil {
			return nil, err
		}
		add("model", state)
	}
	for _, p := range c.parts() {
		state, err := p.State()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.prefix, err)
		}
		add(p.prefix, state)
	}
	var entries []*file.Entry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, err := all[name].Entry(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Load sets the run to what [Checkpoint.Save] has written. The network must have the same
// parameters with the same element types, and be on the device, if they have values yet; the loader
// must be of the same dataset and options, and not in a loop. A file that is not there is an error
// of kind [io/fs.ErrNotExist], one that does not fit of kind [ErrCheckpoint] or of that of what
// does not. After such an error a part of the run may be set, so that it should not go on.
func (c *Checkpoint) Load(path string) error {
	err := c.check()
	if err == nil {
		err = c.load(path)
	}
	if err != nil {
		return fmt.Errorf("load checkpoint: %w", err)
	}
	return nil
}

func (c *Checkpoint) load(path string) error {
	set, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer set.Close()
	r, err := readRecord(path, set)
	if err != nil {
		return err
	}
	if err := c.fits(path, set, r); err != nil {
		return err
	}
	if c.Model != nil {
		if err := c.loadModel(set); err != nil {
			return err
		}
	}
	for _, p := range c.parts() {
		if err := c.loadPart(set, p); err != nil {
			return err
		}
	}
	if c.Loader != nil {
		if err := c.Loader.Seek(*r.Loader); err != nil {
			return err
		}
	}
	c.Device.SetRandomState(r.Random)
	c.Step, c.Notes = r.Step, r.Notes
	return nil
}

// readRecord reads what was saved beside tensors.
func readRecord(path string, set *file.Set) (r record, err error) {
	text, ok := set.Metadata()[key]
	if !ok {
		return r, fmt.Errorf("%s: %w: its metadata has no %s: another program wrote it", path, ErrCheckpoint, key)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("%s: %w: %w", path, ErrCheckpoint, err)
	}
	if r.Version != version {
		return r, fmt.Errorf("%s: %w: version %d, this program reads %d", path, ErrCheckpoint, r.Version, version)
	}
	return r, nil
}

// fits reports what the file has and the run has not, or the other way round.
func (c *Checkpoint) fits(path string, set *file.Set, r record) error {
	if (r.Loader == nil) != (c.Loader == nil) {
		return fmt.Errorf("%s: %w: a position of a loader in the file: %t, in the run: %t", path, ErrCheckpoint, r.Loader != nil, c.Loader != nil)
	}
	known := map[string]bool{"model": c.Model != nil}
	for _, p := range c.parts() {
		known[p.prefix] = true
	}
	for _, name := range set.Names() {
		prefix, rest, _ := strings.Cut(name, ".")
		if prefix == "others" {
			of, _, _ := strings.Cut(rest, ".")
			prefix += "." + of
		}
		if !known[prefix] {
			return fmt.Errorf("%s: %w: it has %s, and the run has no part %s", path, ErrCheckpoint, name, prefix)
		}
	}
	return nil
}

// loadModel loads the network. A value that would have to be converted is an error: the run would
// not go on with the same bits.
func (c *Checkpoint) loadModel(set *file.Set) error {
	list, err := nn.List(c.Model)
	if err != nil {
		return err
	}
	types := map[string]tensor.DType{}
	for _, p := range list {
		if p.HasValue() {
			types[p.Name] = p.Tensor().DType()
		}
	}
	same := func(name string, t *tensor.Tensor) *tensor.Tensor {
		if want, ok := types[name]; ok && t.Err() == nil && t.DType() != want {
			return tensor.Fail("load", fmt.Errorf("%w: %s in the checkpoint, %s in the network", tensor.ErrDTypeMismatch, t.DType(), want))
		}
		return t
	}
	_, err = nn.Load(c.Model, nn.File(set), nn.LoadOptions{On: nn.On{Device: c.Device}, Prefix: "model", Convert: same})
	return err
}

// loadPart loads the tensors below a prefix.
func (c *Checkpoint) loadPart(set *file.Set, p part) error {
	state := map[string]*tensor.Tensor{}
	for e := range set.All() {
		if name, ok := strings.CutPrefix(e.Name, p.prefix+"."); ok {
			t := tensor.Load(c.Device, e)
			if err := t.Err(); err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			state[name] = t
		}
	}
	if err := p.Load(state); err != nil {
		return fmt.Errorf("%s: %w", p.prefix, err)
	}
	return nil
}
