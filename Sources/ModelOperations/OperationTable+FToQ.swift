extension OperationTable {
  /// The operations whose names begin with f to q.
  static let textFToQ = """
    fill 6 T=A shape:int32 value?!:T
    fill_like 7 T=A U=A ref_tensor:T value?!:U
    flatten2d 6 T=A x:T axis?!:int32
    floor 6 T=F x:T
    floor_div 6 T=N x:T y:T
    gather 6 T=N x:T indices:int32 axis?!:int32
    gather 7 T=N I=int16/int32/uint16 x:T indices:I axis?!:int32 batch_dims?!:int32
    gather 8 T=Q I=int16/int32/int8/uint16/uint8 x:T indices:I axis?!:int32 batch_dims?!:int32
      validate_indices?!:bool
    gather_along_axis 6 T=N x:T indices:int32 axis?!:int32
    gather_along_axis 7 T=N I=int16/int32/uint16 x:T indices:I axis?!:int32
    gather_along_axis 8 T=Q I=int16/int32/int8/uint16/uint8 x:T indices:I axis?!:int32
      validate_indices?!:bool
    gather_nd 6 T=N x:T indices:int32
    gather_nd 7 T=N I=int16/int32/uint16 x:T indices:I batch_dims?!:int32
    gather_nd 8 T=Q I=int16/int32/int8/uint16/uint8 x:T indices:I batch_dims?!:int32
      validate_indices?!:bool
    gelu 6 T=F x:T mode?!:string
    greater 6 T=N x:T y:T
    greater_equal 6 T=N x:T y:T
    gru 6 T=fp32 x:T initial_h:T weight_ih!:T weight_hh!:T bias?!:T direction?!:string
      output_sequence?!:bool recurrent_activation?!:string activation?!:string
    gru 8 T=F x:T initial_h:T weight_ih!:T weight_hh!:T bias?!:T direction?!:string
      output_sequence?!:bool recurrent_activation?!:string activation?!:string
    gru 9 T=F x:T initial_h:T weight_ih!:T weight_hh!:T bias?!:T direction?!:string
      output_sequence?!:bool recurrent_activation?!:string activation?!:string reset_after?!:bool
      input_bias?!:T
    identity 6 x:(any)
    instance_norm 6 T=F x:T gamma?!:T beta?!:T epsilon?!:T
    instance_norm 8 T=F U=F x:T gamma?!:U beta?!:U epsilon?!:U
    inverse 6 T=F x:T epsilon?!:T
    inverse 8 T=F U=F x:T epsilon?!:U
    l2_norm 6 T=F x:T epsilon?!:T
    l2_norm 8 T=F U=F x:T epsilon?!:U
    l2_pool 6 T=F x:T kernel_sizes!:int32 strides?!:int32 pad_type!:string pad?!:int32
      ceil_mode?!:bool
    layer_norm 6 T=F x:T axes?!:int32 gamma?!:T beta?!:T epsilon?!:T
    layer_norm 8 T=F U=F x:T axes?!:int32 gamma?!:U beta?!:U epsilon?!:U
    leaky_relu 6 T=F x:T alpha!:T
    leaky_relu 8 T=F U=F x:T alpha!:U
    less 6 T=N x:T y:T
    less_equal 6 T=N x:T y:T
    linear 6 T=N x:T weight!:T bias?!:T
    linear 8 T=N U=N x:T weight!:U bias?!:U
    linear_activation 6 T=F x:T alpha!:T beta!:T
    linear_activation 8 T=F U=F x:T alpha!:U beta!:U
    list_gather 6 ls:(list) indices:int32
    list_length 6 ls:(list)
    list_read 6 ls:(list) index:int32
    list_scatter 6 T=A ls:(list) indices:int32 value:T
    list_write 6 T=A ls:(list) index:int32 value:T
    local_response_norm 6 T=F x:T size!:int32 alpha?!:T beta?!:T k?!:T
    local_response_norm 8 T=F U=F x:T size!:int32 alpha?!:U beta?!:U k?!:U
    log 6 T=F x:T epsilon?!:T
    log 8 T=F U=F x:T epsilon?!:U
    logical_and 6 T=bool x:T y:T
    logical_not 6 x:bool
    logical_or 6 T=bool x:T y:T
    logical_xor 6 T=bool x:T y:T
    lstm 6 T=fp32 x:T initial_h:T initial_c:T weight_ih!:T weight_hh!:T bias?!:T peephole?!:T
      weight_ih_back?!:T weight_hh_back?!:T bias_back?!:T peephole_back?!:T direction?!:string
      output_sequence?!:bool recurrent_activation?!:string cell_activation?!:string
      activation?!:string clip?!:T
    lstm 8 T=F x:T initial_h:T initial_c:T weight_ih!:T weight_hh!:T bias?!:T peephole?!:T
      weight_ih_back?!:T weight_hh_back?!:T bias_back?!:T peephole_back?!:T direction?!:string
      output_sequence?!:bool recurrent_activation?!:string cell_activation?!:string
      activation?!:string clip?!:T
    make_list 6 init_length?:int32 dynamic_length?!:bool elem_shape:(tuple) dtype?!:string
    matmul 6 T=N x:T y:T transpose_x?!:bool transpose_y?!:bool
    matmul 8 T=N U=N x:T y:U transpose_x?!:bool transpose_y?!:bool
    max_pool 6 T=F x:T kernel_sizes!:int32 strides?!:int32 pad_type!:string pad?!:int32
      ceil_mode?!:bool
    maximum 6 T=N x:T y:T
    minimum 6 T=N x:T y:T
    mod 6 T=N x:T y:T
    mul 6 T=N x:T y:T
    non_maximum_suppression 6 T=F boxes:T scores:T iou_threshold!:T score_threshold!:T
      max_boxes!:int32 per_class_suppression?!:bool
    non_maximum_suppression 8 T=F boxes:T scores:T iou_threshold!:T max_boxes!:int32
      per_class_suppression?!:bool
    non_zero 6 T=A x:T
    not_equal 6 T=N x:T y:T
    one_hot 6 T=A indices:int32 one_hot_vector_size:int32 axis?!:int32 on_value?!:T off_value?!:T
    pad 6 T=F x:T pad:int32 mode?!:string constant_val?!:T
    pixel_shuffle 6 T=F x:T upscale_factor!:int32
    pixel_unshuffle 7 T=F x:T downscale_factor!:uint32
    pow 6 T=N x:T y:T
    prelu 6 T=F x:T alpha!:T
    prelu 8 T=F U=F x:T alpha!:U
    quantize 8 SrcT=F DstT=int8/uint8 input:SrcT zero_point?!:DstT scale!:SrcT axis?!:int32
      output_dtype!:string
    """
}
