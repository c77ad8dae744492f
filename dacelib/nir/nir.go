// Package nir implements the neural instance representation (NIR) of the DACE
// paper: a neural network that stands for an instance of a binary optimisation
// problem by approximating its objective function. Changing its embedding, a
// vector of 64 numbers, changes the instance. [Start] explains why untrained
// embeddings also give instances of the class, and [Outside] measures how much
// of such an instance is new.
//
// Start with [Train]: it takes a few instances and returns a [Model] with an
// embedding for each of them. [Model.Instance] turns any embedding, trained or
// not, into a problem that is normalised to [0, 1] by Eq. 11 and can be given
// to every method of dacelib. [Model.Normalise] finds the ranges of many
// embeddings in one pass over the sample. [Model.Save] and [Load] keep a model
// in a file that numpy can read. [Model.Embed] places another instance among those of
// a model.
//
// Distances of embeddings are no similarities of instances unless training was asked
// for that: see [Model.Embeddings]. Package similarity compares instances and NIRs.
//
// The model (the paper's section III, Table I) is four networks:
//
//	encoder       d -> 128 -> 128 -> mean and log-variance of z (d_z each)
//	decoder       d_z -> 128 -> 128 -> d, HardTanh on the output
//	scorer        mean (+) standard deviation -> 128 -> 128 -> 1
//	hypernetwork  embedding (64) -> 64 -> the weights of the scorer
//
// Hidden layers are followed by LeakyReLU(0.01). A solution is input as a
// vector of -1 and +1. All instances share the encoder, decoder and
// hypernetwork.
package nir

import (
	"fmt"
	"math"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/run"
)

const (
	// EmbeddingSize is the default length of an embedding, d_e in the paper;
	// see [Settings].EmbeddingSize.
	EmbeddingSize = 64
	// hyperHidden is the width of the hypernetwork's hidden layer.
	hyperHidden = 64
	// Hidden is the width of the hidden layers of encoder, decoder and scorer.
	Hidden = 128
	// leak is the slope of LeakyReLU below zero.
	leak = 0.01
)

// An Input selects which part of the encoder's output the scorer reads.
type Input int

const (
	// MeanAndStd: mean and standard deviation side by side, 2 d_z numbers
	// (the paper's Eq. 7).
	MeanAndStd Input = iota
	// Mean: the mean alone, d_z numbers (the paper's table of sizes).
	Mean
	// Sample: the sampled z while training and the mean afterwards, d_z
	// numbers (the authors' code).
	Sample
)

// String returns the name of the input.
func (i Input) String() string {
	switch i {
	case MeanAndStd:
		return "MeanAndStd"
	case Mean:
		return "Mean"
	case Sample:
		return "Sample"
	}
	return fmt.Sprintf("Input(%d)", int(i))
}

// MarshalText returns the name of the input.
func (i Input) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText sets the input by its name.
func (i *Input) UnmarshalText(text []byte) error {
	for *i = MeanAndStd; *i <= Sample; *i++ {
		if i.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("nir: there is no input %q", text)
}

// An Activation selects the activation of the scorer's hidden layers.
type Activation int

const (
	// LeakyReLU with slope 0.01 (the paper's table).
	LeakyReLU Activation = iota
	// Identity means no activation, as in the authors' code. The scorer is then
	// an affine function of its input and is evaluated as one dot product.
	Identity
)

// String returns the name of the activation.
func (a Activation) String() string {
	switch a {
	case LeakyReLU:
		return "LeakyReLU"
	case Identity:
		return "Identity"
	}
	return fmt.Sprintf("Activation(%d)", int(a))
}

// MarshalText returns the name of the activation.
func (a Activation) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText sets the activation by its name.
func (a *Activation) UnmarshalText(text []byte) error {
	for *a = LeakyReLU; *a <= Identity; *a++ {
		if a.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("nir: there is no activation %q", text)
}

// A Start selects the initial values of the parameters.
type Start int

const (
	// Duals initialises the hidden units of the hypernetwork as detectors of
	// the training embeddings: unit u is 1 at embedding u mod K of the K
	// instances and 0 at the others, because its weights are the dual vector of
	// that embedding. If there are more instances than hidden units, instances
	// share units; if there are more instances than numbers in an embedding, 1
	// and 0 are approximated in the sense of least squares. The output weights
	// of the hypernetwork start small. The generated weights then come mostly
	// from what was learned about the instances and little from the initial
	// values: an embedding drawn from N(0, I) gives a mixture of the instances
	// rather than an arbitrary function. Detectors learn at LearningRate / d_e.
	// All other parameters start as with He.
	Duals Start = iota
	// He draws independent normal numbers with He's variances. If the model is
	// wide for its dimension, it uses orthogonal matrices.
	He
	// Torch uses the initial values of PyTorch's layers, as the authors' code
	// does: weights and biases uniform within 1/sqrt(inputs).
	Torch
)

// String returns the name of the start.
func (s Start) String() string { return name(int(s), "Start", "Duals", "He", "Torch") }

// MarshalText returns the name of the start.
func (s Start) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the start by its name.
func (s *Start) UnmarshalText(text []byte) error {
	for *s = Duals; *s <= Torch; *s++ {
		if s.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("nir: there is no start %q", text)
}

// A Schedule selects how a quantity changes over the steps of a training.
type Schedule int

const (
	// Cosine decreases it along half a cosine to a hundredth.
	Cosine Schedule = iota
	// Constant does not change it.
	Constant
)

// String returns the name of the schedule.
func (s Schedule) String() string { return name(int(s), "Schedule", "Cosine", "Constant") }

// MarshalText returns the name of the schedule.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the schedule by its name.
func (s *Schedule) UnmarshalText(text []byte) error {
	for *s = Cosine; *s <= Constant; *s++ {
		if s.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("nir: there is no schedule %q", text)
}

// at returns the schedule's factor after step of steps.
func (s Schedule) at(step, steps int) float64 {
	if s == Constant {
		return 1
	}
	return 0.01 + 0.99*(1+math.Cos(math.Pi*float64(step)/float64(steps)))/2
}

// name returns the i-th of names, or kind with the number i if there is no such
// name.
func name(i int, kind string, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

// Settings describe the model and its training. The zero value is the paper's;
// see also [Authors].
type Settings struct {
	// Reading of the paper. Published overrides Input, Activation, BatchNorm,
	// Start, HyperBias, FixedEmbeddings, RateSchedule and DecaySchedule with
	// the choices of the authors' public code. It also changes the defaults of
	// some other settings, as noted at each.
	Reading run.Reading
	// Input of the scorer; default MeanAndStd.
	Input Input
	// Activation of the scorer's hidden layers; default LeakyReLU.
	Activation Activation
	// BatchNorm puts a batch normalisation between each hidden layer of
	// encoder and decoder and its activation. The paper has none.
	BatchNorm bool
	// Dim is the dimension d of the model. 0 means the instances' dimension; if
	// they differ, it must be set: in App. E to the mean of their dimensions.
	// Solutions of other dimensions are padded with zeros or truncated.
	Dim int
	// Latent is the dimension d_z; 0 means d.
	Latent int
	// EmbeddingSize is the length d_e of an embedding; default 64. Published: d.
	EmbeddingSize int
	// Start selects the initial parameters. Published: Torch.
	Start Start
	// HyperBias adds biases to the layers of the hypernetwork. Without biases,
	// a multiple of an embedding gives the same multiple of the weights, and
	// the embedding 0 gives weights 0. Published: true.
	HyperBias bool
	// FixedEmbeddings keeps the embeddings at their random initial values.
	// Published: true.
	FixedEmbeddings bool

	// Samples is the number of distinct uniform solutions drawn for every
	// instance, of which 75 % are for training; default 100,000.
	Samples int
	// Batch is the number of solutions per instance and step; default 256.
	// Published: 8,192.
	Batch int
	// Steps is the number of steps of Adam; default 12,000. Published: 5,000
	// passes over the training data.
	Steps int
	// LearningRate is the rate at the first step, default 0.001; RateSchedule
	// is how it changes. Published: 0.0005, Constant.
	LearningRate float64
	RateSchedule Schedule
	// HyperRate is the learning rate of the hypernetwork's output weights as a
	// multiple of LearningRate; default 0.1. Each weight of a scorer depends on
	// 64 of these weights, so with equal rates scorers move too fast to settle.
	// With the start Duals and more than five instances, each instance has
	// fewer hidden units of its own, and the default is the number of instances
	// divided by 50, at most 1. Published: 1.
	HyperRate float64
	// WeightDecay lambda adds lambda w to the gradient of every weight and bias
	// w, and of the embeddings unless they are fixed: L2 regularisation as in
	// PyTorch's Adam. Default 0; a negative number means 0. DecaySchedule
	// changes lambda over the training, in addition to RateSchedule for the
	// rate. Published: 0.00001, Constant.
	WeightDecay   float64
	DecaySchedule Schedule
	// DecayHyperOnly restricts WeightDecay to the hypernetwork.
	DecayHyperOnly bool
	// ValidateEvery is the number of steps between validations; default a 60th
	// of Steps. Published: one pass over the training data.
	ValidateEvery int
	// KeepFrom is the first step from which the training keeps the parameters
	// with the smallest validation loss; default 0. Published: a fifth of
	// Steps.
	KeepFrom int
	// StopFactor ends the training when the validation loss exceeds StopFactor
	// times the smallest so far; default 5.
	StopFactor float64
	// PredictionWeight and KLWeight are lambda_1 and lambda_2 of Eq. 9;
	// defaults 1 and 0.0005. A negative number means 0.
	PredictionWeight, KLWeight float64
	// DistanceWeight, if positive, makes embeddings tell how similar instances are.
	// They start where their inner products, divided by d_e, are the correlations
	// of the instances' values, and DistanceWeight times the mean squared
	// difference of the two, over all pairs, is added to Eq. 9 (in the gradients;
	// [Losses] leave it out). The distance of two embeddings is then about
	// sqrt(2 d_e (1 - r)), where r is the correlation. The instances must have one
	// dimension and the same solutions for validation, which [Train] draws. Where the
	// validation loss rises by a quarter, training goes back to its best parameters
	// and continues at 0.7 times the rate. Default 0: distances of embeddings then
	// say nothing, see [Model.Embeddings].
	DistanceWeight float64 `json:",omitempty"`
	// Resume is a cancelled model whose training is to be continued. Instances
	// and settings must be the same; the result is then the same as that of an
	// uninterrupted training.
	Resume *Model `json:"-"`
	// Checkpoint is the path of a file for the state of the training. The file
	// is written every CheckpointEvery, when the training is cancelled, and at
	// its end, when it becomes the model's file, as [Model.Save] writes it. A
	// training with the same instances and settings continues from the file and
	// gives the same result as without interruption; if the training is
	// finished, it returns the model. [Train] evaluates the instances again in
	// either case. Only the caller deletes the file.
	//
	// A file of other settings or instances, or of another kind, is an error. A
	// damaged file is reported as an event, and the training starts from the
	// beginning. If the file cannot be written, that is reported as an event
	// and training continues; at the end it is an error, returned with the
	// model. A file serves one training at a time. It is replaced atomically,
	// and takes 16 bytes per weight: 26 MB at d = 30.
	Checkpoint string `json:"-"`
	// CheckpointEvery is the interval between two writes of Checkpoint; default
	// 30 s.
	CheckpointEvery time.Duration `json:"-"`
	// Gorgonia computes gradients by gorgonia's automatic differentiation
	// instead of the hand-written pass. Model and loss are the same, but it is
	// several times slower; it serves to test the hand-written pass. A program
	// that sets it imports the graph: import _ "dace.local/dacelib/nir/graph".
	Gorgonia bool

	// NormaliseSample is the number of solutions over which [Model.Normalise]
	// takes minimum and maximum; default 10,000,000. They depend on one seed
	// only, so they are the same for every embedding.
	NormaliseSample int
	// Normalisation of the new model; see [Model].Normalisation.
	Normalisation Normalisation `json:"-"`

	// Workers is the number of goroutines; 0 means GOMAXPROCS. It does not
	// change any result.
	Workers int `json:"-"`
	// Farm, if not nil, has the training and the ranges of scorers computed by
	// the workers of a pool. It does not change any result. A training of a
	// worker keeps no Checkpoint until it ends, and sends no events.
	Farm farm.Pool `json:"-"`
	// Seed determines all random numbers.
	Seed uint64
	// OnEvent receives an event of stage "data" for every instance whose
	// solutions have been evaluated, and events of stage "train" at every
	// validation and ten times between two. Value is then the last validation
	// loss and Best the smallest so far; both are NaN before the first.
	OnEvent func(run.Event) `json:"-"`
	// OnRecord receives the losses at every validation, for live curves.
	OnRecord func(Record) `json:"-"`
}

// Paper returns the settings of the paper's text: the zero value.
func Paper() Settings { return Settings{} }

// Authors returns the settings of the authors' network where it differs from
// the paper's text: the scorer reads the sampled z in training and the mean
// afterwards and has no activations, and encoder and decoder have batch
// normalisation. It is trained like [Paper]'s. To use the authors' training as
// well, which takes hours, set Reading to [run.Published].
func Authors() Settings {
	return Settings{Input: Sample, Activation: Identity, BatchNorm: true}
}

// Quick returns settings for a first look: a training of some seconds. OneMax
// instances of 30 bits can then be distinguished and identified, but the losses
// are several times the paper's.
func Quick() Settings {
	return Settings{Samples: 20_000, Batch: 64, Steps: 2000, ValidateEvery: 200, LearningRate: 0.004, HyperRate: 0.025, NormaliseSample: 500_000}
}

// withDefaults returns s with every zero replaced by its default; dim is the
// dimension of the model.
func (s Settings) withDefaults(dim int) Settings {
	defaults.Set(&s.Dim, dim)
	defaults.Set(&s.Latent, s.Dim)
	defaults.Set(&s.Samples, 100_000)
	if s.Reading == run.Published {
		s.Input, s.Activation, s.BatchNorm = Sample, Identity, true
		s.Start, s.HyperBias, s.FixedEmbeddings = Torch, true, true
		s.RateSchedule, s.DecaySchedule = Constant, Constant
		defaults.Set(&s.EmbeddingSize, s.Dim)
		defaults.Set(&s.Batch, 8192)
		epoch := (s.Samples*3/4 + s.Batch - 1) / max(1, s.Batch)
		defaults.Set(&s.Steps, 5000*epoch)
		defaults.Set(&s.KeepFrom, s.Steps/5)
		defaults.Set(&s.ValidateEvery, epoch)
		defaults.Set(&s.LearningRate, 5e-4)
		defaults.Set(&s.HyperRate, 1)
		defaults.Set(&s.WeightDecay, 1e-5)
	}
	defaults.Set(&s.EmbeddingSize, EmbeddingSize)
	defaults.Set(&s.Batch, 256)
	defaults.Set(&s.Steps, 12_000)
	defaults.Set(&s.ValidateEvery, max(1, s.Steps/60))
	defaults.Set(&s.NormaliseSample, 10_000_000)
	if s.CheckpointEvery == 0 {
		s.CheckpointEvery = 30 * time.Second
	}
	defaults.Set(&s.LearningRate, 1e-3)
	defaults.Set(&s.HyperRate, 0.1)
	defaults.Set(&s.StopFactor, 5)
	defaults.Set(&s.PredictionWeight, 1)
	defaults.Set(&s.KLWeight, 5e-4)
	for _, p := range []*float64{&s.LearningRate, &s.HyperRate, &s.WeightDecay, &s.StopFactor, &s.PredictionWeight, &s.KLWeight} {
		*p = max(*p, 0)
	}
	return s
}

// check returns an error that names the first invalid setting.
func (s Settings) check() error {
	switch {
	case s.Input < MeanAndStd || s.Input > Sample:
		return fmt.Errorf("nir: Settings.Input is %d; use MeanAndStd, Mean or Sample", int(s.Input))
	case s.Activation < LeakyReLU || s.Activation > Identity:
		return fmt.Errorf("nir: Settings.Activation is %d; use LeakyReLU or Identity", int(s.Activation))
	case s.Dim < 1 || s.Dim > maxDim:
		return fmt.Errorf("nir: the model's dimension is %d; it must be 1 to %d", s.Dim, maxDim)
	case s.Latent < 1 || s.Latent > maxDim:
		return fmt.Errorf("nir: Settings.Latent is %d; it must be 1 to %d", s.Latent, maxDim)
	case s.Reading != run.Written && s.Reading != run.Published:
		return fmt.Errorf("nir: Settings.Reading is %d; use run.Written or run.Published", int(s.Reading))
	case s.EmbeddingSize < 1 || s.EmbeddingSize > maxDim:
		return fmt.Errorf("nir: Settings.EmbeddingSize is %d; it must be 1 to %d", s.EmbeddingSize, maxDim)
	case s.Start < Duals || s.Start > Torch:
		return fmt.Errorf("nir: Settings.Start is %d; use Duals, He or Torch", int(s.Start))
	case s.RateSchedule < Cosine || s.RateSchedule > Constant || s.DecaySchedule < Cosine || s.DecaySchedule > Constant:
		return fmt.Errorf("nir: Settings.RateSchedule is %d and DecaySchedule %d; use Cosine or Constant", int(s.RateSchedule), int(s.DecaySchedule))
	case s.KeepFrom < 0 || s.KeepFrom > s.Steps:
		return fmt.Errorf("nir: Settings.KeepFrom is %d; it must be 0 to Steps, which is %d", s.KeepFrom, s.Steps)
	case s.Samples < minData:
		return fmt.Errorf("nir: Settings.Samples is %d; training needs at least %d", s.Samples, minData)
	case s.Batch < 2 || s.Steps < 1 || s.ValidateEvery < 1:
		return fmt.Errorf("nir: Settings.Batch is %d, Steps %d, ValidateEvery %d; they must be at least 2, 1, 1", s.Batch, s.Steps, s.ValidateEvery)
	case s.Samples > maxSample || s.Batch > 1<<20 || s.Steps > maxSample:
		return fmt.Errorf("nir: Settings.Samples is %d, Batch %d, Steps %d; they must be at most %d, %d, %d", s.Samples, s.Batch, s.Steps, maxSample, 1<<20, maxSample)
	case s.Checkpoint != "" && s.Resume != nil:
		return fmt.Errorf("nir: Settings.Checkpoint and Settings.Resume both say where training goes on; use one of them")
	case s.CheckpointEvery < 0:
		return fmt.Errorf("nir: Settings.CheckpointEvery is %v; it must not be negative", s.CheckpointEvery)
	case s.NormaliseSample < 2 || s.NormaliseSample > maxSample:
		return fmt.Errorf("nir: Settings.NormaliseSample is %d; it must be 2 to %d", s.NormaliseSample, maxSample)
	case !(s.DistanceWeight >= 0) || math.IsInf(s.DistanceWeight, 0):
		return fmt.Errorf("nir: Settings.DistanceWeight is %v; it must be 0 or a positive number", s.DistanceWeight)
	case s.DistanceWeight > 0 && s.Gorgonia:
		return fmt.Errorf("nir: Settings.DistanceWeight is %v, which Settings.Gorgonia does not know; set one of them", s.DistanceWeight)
	case !finite(s.PredictionWeight, s.KLWeight, s.HyperRate, s.LearningRate, s.WeightDecay):
		return fmt.Errorf("nir: Settings.PredictionWeight is %v, KLWeight %v, HyperRate %v, LearningRate %v, WeightDecay %v; they must be finite", s.PredictionWeight, s.KLWeight, s.HyperRate, s.LearningRate, s.WeightDecay)
	case !(s.LearningRate > 0) || !(s.StopFactor >= 1):
		return fmt.Errorf("nir: Settings.LearningRate is %v and StopFactor %v; they must be positive, and at least 1", s.LearningRate, s.StopFactor)
	}
	return nil
}

// finite reports whether no value is NaN or infinite.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// maxDim bounds the dimension of solutions and latents.
const maxDim = 4096

// maxSample bounds the normalising sample.
const maxSample = 1 << 30

// minData is the smallest number of solutions that an instance can be trained
// with.
const minData = 100
