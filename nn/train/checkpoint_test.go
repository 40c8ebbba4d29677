package train

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func device(t *testing.T) *tensor.Device {
	dev, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// small is a network that draws random numbers in training, and has a buffer.
type small struct {
	In, Out *nn.Linear
	Drop    *nn.Dropout
	Seen    *nn.Param
}

func (s *small) forward(x *tensor.Tensor) *tensor.Tensor {
	return s.Out.Forward(s.Drop.Forward(s.In.Forward(x).Tanh()))
}

// trial is a run of everything that a checkpoint is of.
type trial struct {
	Checkpoint
	net    *small
	loader *data.Loader[data.Labeled, data.Pair]
	opt    *optim.Optimizer
}

func newTrial(t *testing.T, seed uint64) *trial {
	dev := device(t)
	dev.SetSeed(seed)
	r := &trial{net: &small{In: nn.NewLinear(6, 9), Out: nn.NewLinear(9, 3), Drop: &nn.Dropout{P: 0.3}, Seen: nn.NewBuffer(nn.Zeros)}}
	require.NoError(t, nn.Init(r.net, nn.On{Device: dev}))
	require.NoError(t, nn.SetTraining(r.net, true))
	params, err := nn.Trainable(r.net)
	require.NoError(t, err)
	r.opt = optim.NewAdamW(params, optim.AdamW{LR: 0.01, WeightDecay: 0.1})
	x, labels := make([]float32, 6*50), make([]uint32, 50)
	for i := range x {
		x[i] = float32(i*i%17)/8 - 1
	}
	for i := range labels {
		labels[i] = uint32(i % 3)
	}
	set, err := data.NewLabeled(x, 6, labels)
	require.NoError(t, err)
	r.loader, err = data.NewLoader(set, data.Classify(dev, 6), data.Options{Batch: 7, Shuffle: true, Seed: 5})
	require.NoError(t, err)
	r.Checkpoint = Checkpoint{Model: r.net, Optimizer: r.opt, Loader: r.loader, Device: dev}
	return r
}

// train takes steps, and returns the losses.
func (r *trial) train(t *testing.T, steps int) (losses []float64) {
	for b, err := range r.loader.Batches(t.Context()) {
		require.NoError(t, err)
		logp := r.net.forward(b.X).LogSoftmax(1)
		loss := logp.Gather(b.Y.Unsqueeze(1), 1).Mean().Neg()
		grads, err := loss.Backward()
		require.NoError(t, err)
		require.NoError(t, r.opt.Step(grads))
		require.NoError(t, r.net.Seen.Set(r.net.Seen.Tensor().AddScalar(1)))
		l, err := loss.Float64s()
		require.NoError(t, err)
		losses = append(losses, l[0])
		if r.Step++; len(losses) == steps {
			break
		}
	}
	return losses
}

// bytes are those of all tensors of the run.
func (r *trial) bytes(t *testing.T) map[string][]byte {
	entries, err := r.entries()
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, e := range entries {
		out[e.Name], err = e.Bytes()
		require.NoError(t, err)
	}
	return out
}

// Twenty steps are ten steps, a checkpoint, and ten steps of another process that began otherwise: bit
// for bit, with dropout, across the end of an epoch.
func TestResume(t *testing.T) {
	whole := newTrial(t, 1)
	want := whole.train(t, 20)

	path := filepath.Join(t.TempDir(), "run.safetensors")
	first := newTrial(t, 1)
	first.Notes = map[string]string{"run": "7"}
	losses := first.train(t, 10)
	require.NoError(t, first.Save(path))
	wantBytes := whole.bytes(t)

	second := newTrial(t, 2)
	second.train(t, 3)
	require.NoError(t, second.Load(path))
	require.Equal(t, 10, second.Step)
	require.Equal(t, first.Notes, second.Notes)
	require.Equal(t, first.bytes(t), second.bytes(t))
	losses = append(losses, second.train(t, 10)...)

	require.Equal(t, want, losses)
	require.Equal(t, wantBytes, second.bytes(t))
	require.Equal(t, whole.loader.Position(), second.loader.Position())
	require.Equal(t, whole.Device.RandomState(), second.Device.RandomState())
	require.Greater(t, len(wantBytes), 10)

	fresh := newTrial(t, 3) // saving again gives the same file
	require.NoError(t, fresh.Load(path))
	again := path + "2"
	require.NoError(t, fresh.Save(again))
	a, err := os.ReadFile(path)
	require.NoError(t, err)
	b, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, a, b)
}

// state is a part of a run that is a tensor.
type state struct{ t *tensor.Tensor }

func (s *state) State() (map[string]*tensor.Tensor, error) {
	return map[string]*tensor.Tensor{"t": s.t}, nil
}

func (s *state) Load(m map[string]*tensor.Tensor) error { s.t = m["t"]; return nil }

var _ Stateful = (*optim.Average)(nil)

func TestFits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.safetensors")
	r := newTrial(t, 1)
	r.train(t, 2)
	r.Others = map[string]Stateful{"ema": &state{tensor.Ones(r.Device, tensor.BF16, 3)}}
	require.NoError(t, r.Save(path))

	set, err := safetensors.Open(path) // by others, too
	require.NoError(t, err)
	require.True(t, set.Has("model.in.weight"))
	require.True(t, set.Has("others.ema.t"))
	var rec record
	require.NoError(t, json.Unmarshal([]byte(set.Metadata()[key]), &rec))
	require.Equal(t, 2, rec.Step)
	require.NoError(t, set.Close())

	plain := filepath.Join(dir, "plain.safetensors")
	require.NoError(t, nn.Save(plain, r.net, nil))
	later := filepath.Join(dir, "later.safetensors")
	require.NoError(t, nn.Save(later, r.net, map[string]string{key: `{"version":2}`}))
	broken := filepath.Join(dir, "broken.safetensors")
	require.NoError(t, nn.Save(broken, r.net, map[string]string{key: `{`}))

	for _, c := range []struct {
		path   string
		change func(*Checkpoint)
		kind   error
		text   string
	}{
		{path, func(c *Checkpoint) {}, nil, ""},
		{filepath.Join(dir, "none"), func(c *Checkpoint) {}, fs.ErrNotExist, "none"},
		{plain, func(c *Checkpoint) {}, ErrCheckpoint, "another program"},
		{later, func(c *Checkpoint) {}, ErrCheckpoint, "version 2"},
		{broken, func(c *Checkpoint) {}, ErrCheckpoint, "JSON"},
		{path, func(c *Checkpoint) { c.Device = nil }, tensor.ErrArgument, "no device"},
		{path, func(c *Checkpoint) { c.Step = -1 }, tensor.ErrArgument, "step -1"},
		{path, func(c *Checkpoint) { c.Others = map[string]Stateful{"a.b": nil} }, tensor.ErrArgument, `"a.b"`},
		{path, func(c *Checkpoint) { c.Others = map[string]Stateful{"ema": nil} }, tensor.ErrArgument, "is nil"},
		{path, func(c *Checkpoint) { c.Others = nil }, ErrCheckpoint, "no part others.ema"},
		{path, func(c *Checkpoint) { c.Optimizer = nil }, ErrCheckpoint, "no part optimizer"},
		{path, func(c *Checkpoint) { c.Loader = nil }, ErrCheckpoint, "loader"},
		{path, func(c *Checkpoint) { c.Model = &struct{ In *nn.Linear }{nn.NewLinear(6, 9)} }, nn.ErrNames, "model.out.weight"},
	} {
		next := newTrial(t, 1)
		next.Others = map[string]Stateful{"ema": &state{}}
		c.change(&next.Checkpoint)
		err := next.Load(c.path)
		if c.kind == nil {
			require.NoError(t, err)
			require.Equal(t, tensor.BF16, next.Others["ema"].(*state).t.DType())
			continue
		}
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.text)
	}

	wide := newTrial(t, 1) // a network of another type would go on with other bits
	wide.Others = map[string]Stateful{"ema": &state{}}
	net := &small{In: nn.NewLinear(6, 9), Out: nn.NewLinear(9, 3), Seen: nn.NewBuffer(nn.Zeros)}
	require.NoError(t, nn.Init(net, nn.On{Device: wide.Device, DType: tensor.F64}))
	wide.Model = net
	require.ErrorIs(t, wide.Load(path), tensor.ErrDTypeMismatch)

	wide.Model = &small{In: nn.NewLinear(6, 9), Out: nn.NewLinear(9, 3), Seen: nn.NewBuffer(nn.Zeros)} // no values yet
	require.NoError(t, wide.Load(path))
	wide.Model = &small{In: nn.NewLinear(6, 9), Seen: nn.NewBuffer(nn.Zeros)}
	require.ErrorIs(t, wide.Save(path), nn.ErrNoValue)
	wide.Device = nil
	require.ErrorIs(t, wide.Save(path), tensor.ErrArgument)
}
