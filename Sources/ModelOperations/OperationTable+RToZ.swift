extension OperationTable {
  /// The operations whose names begin with r to z.
  static let textRToZ = """
    random_bernoulli 6 T=F shape:int32 prob?!:T seed?!:int32
    random_categorical 6 T=F x:T mode?!:string size?!:int32 seed?!:int32
    random_normal 6 T=F shape:int32 mean?!:T stddev?!:T seed?!:int32
    random_uniform 6 T=F shape:int32 low?!:T high?!:T seed?!:int32
    range_1d 6 T=N end:T start:T step:T
    read_state 9 input:(state)
    real_div 6 T=N x:T y:T
    reduce_argmax 6 T=N x:T axis?!:int32 keep_dims?!:bool
    reduce_argmax 8 T=N x:T axis?!:int32 keep_dims?!:bool output_dtype?!:string
    reduce_argmin 6 T=N x:T axis?!:int32 keep_dims?!:bool
    reduce_argmin 8 T=N x:T axis?!:int32 keep_dims?!:bool output_dtype?!:string
    reduce_l1_norm 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_l2_norm 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_log_sum 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_log_sum_exp 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_max 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_mean 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_min 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_prod 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_sum 6 T=N x:T axes?!:int32 keep_dims?!:bool
    reduce_sum_square 6 T=N x:T axes?!:int32 keep_dims?!:bool
    relu 6 T=F x:T
    relu6 6 T=F x:T
    resample 6 T=F U=fp32/int32 x:T coordinates:U sampling_mode!:string padding_mode!:string
      padding_value!:T coordinates_mode!:string align_corners!:bool
    resample 7 T=F U=N x:T coordinates:U sampling_mode!:string padding_mode!:string
      padding_value!:T coordinates_mode!:string align_corners!:bool
    resample 8 T=F U=Q x:T coordinates:U sampling_mode!:string padding_mode!:string
      padding_value!:T coordinates_mode!:string align_corners!:bool
    reshape 6 T=A x:T shape:int32
    reshape 8 T=W U=I x:T shape:U
    reshape_like 7 T=A x:T ref_tensors:(tuple) begins:(tuple) ends:(tuple) end_masks:(tuple)
    reshape_like 8 T=W x:T ref_tensors:(tuple) begins:(tuple) ends:(tuple) end_masks:(tuple)
    resize 8 T=N U=int16/int32/uint16/uint32 x:T shape:U resized_dims!:uint32
      interpolation_mode?!:string sampling_mode?!:string
    resize_bilinear 6 T=F x:T target_size_height?!:int32 target_size_width?!:int32
      sampling_mode?!:string
    resize_nearest_neighbor 6 T=F x:T target_size_height!:int32 target_size_width!:int32
    reverse 6 T=A x:T axes?!:int32
    reverse 8 T=W x:T axes?!:int32
    reverse_sequence 6 T=A x:T lengths:int32 seq_axis?!:int32 batch_axis?!:int32
    reverse_sequence 8 T=W U=I x:T lengths:U seq_axis?!:int32 batch_axis?!:int32
    rnn 6 T=fp32 x:T initial_h:T weight_ih!:T weight_hh!:T bias?!:T direction?!:string
      output_sequence?!:bool activation?!:string
    rnn 8 T=F x:T initial_h:T weight_ih!:T weight_hh!:T bias?!:T direction?!:string
      output_sequence?!:bool activation?!:string
    round 6 T=F x:T
    rsqrt 6 T=F x:T epsilon?!:T
    rsqrt 8 T=F U=F x:T epsilon?!:U
    scaled_dot_product_attention 9 T=F M=bool/fp16/fp32 query:T key:T value:T attn_mask?:M
    scaled_tanh 6 T=F x:T alpha!:T beta!:T
    scaled_tanh 8 T=F U=F x:T alpha!:U beta!:U
    scatter 6 T=N data:T indices:int32 updates:T axis?!:int32 mode?!:string
    scatter 8 T=N data:T indices:int32 updates:T axis?!:int32 mode?!:string
      validate_indices?!:bool
    scatter_along_axis 6 T=N data:T indices:int32 updates:T axis?!:int32 mode?!:string
    scatter_along_axis 8 T=N data:T indices:int32 updates:T axis?!:int32 mode?!:string
      validate_indices?!:bool
    scatter_nd 6 T=N data:T indices:int32 updates:T mode?!:string
    scatter_nd 8 T=N data:T indices:int32 updates:T mode?!:string validate_indices?!:bool
    select 6 T=A cond:bool a:T b:T
    shape 6 T=A x:T
    sigmoid 6 T=F x:T
    sigmoid_hard 6 T=F x:T alpha!:T beta!:T
    sigmoid_hard 8 T=F U=F x:T alpha!:U beta!:U
    sign 6 T=N x:T
    silu 6 T=F x:T
    sin 6 T=F x:T
    sinh 6 T=F x:T
    slice_by_index 6 T=A x:T begin:int32 end:int32 stride?!:int32 begin_mask?!:bool
      end_mask?!:bool squeeze_mask?!:bool
    slice_by_index 8 T=W U=I x:T begin:U end:U stride?!:U begin_mask?!:bool end_mask?!:bool
      squeeze_mask?!:bool
    slice_by_size 6 T=A x:T begin:int32 size:int32
    slice_by_size 8 T=W U=I x:T begin:U size:U
    slice_update 9 T=W U=I x:T update:T begin:U end:U stride?!:U begin_mask?!:bool end_mask?!:bool
      squeeze_mask?!:bool
    sliding_windows 6 T=N x:T axis!:int32 size!:int32 stride?!:int32
    sliding_windows 8 T=W x:T axis!:int32 size!:int32 stride?!:int32
    softmax 6 T=F x:T axis?!:int32
    softplus 6 T=F x:T
    softplus_parametric 6 T=F x:T alpha!:T beta!:T
    softplus_parametric 8 T=F U=F x:T alpha!:U beta!:U
    softsign 6 T=F x:T
    space_to_batch 6 T=F x:T block_shape!:int32 paddings!:int32
    space_to_depth 6 T=F x:T block_size!:int32
    split 6 T=A x:T num_splits?!:int32 split_sizes?!:int32 axis!:int32
    sqrt 6 T=F x:T
    square 6 T=N x:T
    squeeze 6 T=A x:T axes?!:int32
    squeeze 8 T=W x:T axes?!:int32
    stack 6 values:(tuple) axis!:int32
    sub 6 T=N x:T y:T
    tan 6 T=F x:T
    tanh 6 T=F x:T
    threshold 6 T=N x:T alpha!:T
    thresholded_relu 6 T=F x:T alpha!:T
    thresholded_relu 8 T=F U=F x:T alpha!:U
    tile 6 T=A x:T reps:int32
    topk 6 T=N x:T k?!:int32 axis?!:int32 ascending?!:bool
    topk 7 T=N x:T k?!:int32 axis?!:int32 ascending?!:bool sort?!:bool return_indices?!:bool
    topk 8 T=Q K=I x:T k?!:K axis?!:int32 ascending?!:bool sort?!:bool return_indices?!:bool
      output_indices_dtype?!:string
    transpose 6 T=A x:T perm!:int32
    transpose 8 T=W x:T perm!:int32
    upsample_bilinear 6 T=F U=fp32/int32 x:T scale_factor_height?!:U scale_factor_width?!:U
      align_corners?!:bool
    upsample_bilinear 7 T=F U=fp32/int32 x:T scale_factor_height?!:U scale_factor_width?!:U
      align_corners?!:bool half_pixel_centers?!:bool
    upsample_nearest_neighbor 6 T=F U=fp32/int32 x:T scale_factor_height?!:U
      scale_factor_width?!:U
    while_loop 6 _cond:(block) _body:(block) loop_vars:(tuple)
    write_state 9 input:(state) data:*
    """
}
