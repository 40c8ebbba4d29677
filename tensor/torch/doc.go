// Package torch reads and writes the files that torch.save of PyTorch writes, mostly called .pth,
// .pt or .bin.
//
// Such a file is a program for the virtual machine of Python's pickle, which builds
// dictionaries and lists of tensors, and the storages that the tensors are views of:
// members of a zip archive, or, before PyTorch 1.6, bytes behind the program.
//
// [Open] runs the program in a machine of its own, which builds values and cannot do
// anything else: a name that a program takes from Python must be in a table of classes
// and functions that rebuild tensors, each of which is a function here. Any other is an
// error that says its name and byte. Storages are not read.
//
// Tensors are named by their path: keys of dictionaries and indices of lists, with
// points between them.
//
//	set, err := torch.Open("checkpoint.pth", "state_dict")
//	defer set.Close()
//	for e := range set.All() {
//		fmt.Println(e.Name, e.DType, e.Shape()) // layer.0.weight f32 [768, 768]
//	}
//	e, err := set.Get("layer.0.weight")
//	v, err := e.View() // in the mapped file, to be read by e.Layout
//
// Any strides and offsets, all storages and dtypes of PyTorch; those that no element type
// can hold, as complex and quantised numbers, are listed, and are errors when they are
// read. Tensors that share a storage are entries with the same offset in the file.
//
// [Write] writes a state dict: tensors by their names.
package torch
