// Command chargpt trains a small GPT on the characters of a text, writes some of its own, and draws
// the loss. From the root of the repository, whose RATIONALE.md it reads by default:
//
//	go run -C examples/training ./chargpt
//	go run -C examples/training ./chargpt -text ~/book.txt -steps 2000 -device auto
//
// It is a decoder of two layers with learned positions (Radford et al., 2019): see model.go for the
// network and main.go for training.
package main
