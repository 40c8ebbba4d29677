// Package train has what a training run needs around its loop, which is a program's own:
//
//	run := &train.Checkpoint{Model: net, Optimizer: opt, Loader: loader, Device: dev}
//	if err := run.Load("run.safetensors"); err != nil && !errors.Is(err, fs.ErrNotExist) {
//		return err
//	}
//	for batch, err := range loader.Batches(ctx) {
//		…
//		if run.Step++; run.Step%1000 == 0 {
//			err = run.Save("run.safetensors")
//		}
//	}
//
// # Checkpoints
//
// A [Checkpoint] saves all that the rest of a run depends on, so that a run that was stopped goes
// on with the same bits as one that was not: the parameters and buffers of the network, the states
// of the optimiser, where the loader is, and where the device's random numbers are. It is one
// safetensors file. Tensors have the prefixes model, optimizer and others, so that other programs
// read the network in it; the rest is JSON under one key of the file's metadata. The file replaces
// an earlier one when it is whole.
package train
