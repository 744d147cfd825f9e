// Các trang quản trị bằng tiếng Việt.

export const VI = {
  title: "Quản trị", skip: "Tới nội dung", chat: "Hỏi đáp", parts: "Các mục quản trị", signInHint: "Đăng nhập với quyền quản trị hoặc kiểm toán: chọn người dùng thử có vai trò admin, hoặc dán mã truy cập.",
  notAdmin: "Các trang này dành cho quản trị viên và kiểm toán viên.", notAdminHint: "Tài khoản của bạn không có vai trò admin hay auditor. Hãy nhờ quản trị viên cấp, hoặc đăng nhập bằng tài khoản khác.", otherUser: "Đăng nhập bằng tài khoản khác",
  loading: "Đang tải…", more: "Xem thêm", close: "Đóng", tryAgain: "Thử lại", failedTo: "Không thực hiện được: {reason}",
  part: { documents: "Tài liệu", health: "Tình trạng", conflicts: "Mâu thuẫn", tasks: "Công việc", usage: "Sử dụng", performance: "Hiệu năng", evaluations: "Đánh giá", people: "Mọi người", agents: "Tác tử", audit: "Nhật ký" },

  all: "tất cả", department: "Phòng ban", status: "Trạng thái", document: "Tài liệu", scope: "Phạm vi", days: "Hiệu lực", version: "Phiên bản", changed: "Thay đổi", noDocuments: "Không có tài liệu nào phù hợp.", documentCount: "Đang hiện {number} tài liệu",
  stageName: { received: "đã nhận", parsing: "đang đọc", chunking: "đang chia đoạn", embedding: "đang tạo véc-tơ", ready: "đã công bố", partial: "công bố một phần", failed: "lỗi" },
  stepName: { received: "nhận", parsing: "đọc", chunking: "chia đoạn", embedding: "tạo véc-tơ", ready: "công bố" },
  fromTo: "{from} – {to}", fromDay: "từ {from}", toDay: "đến {to}", always: "không giới hạn ngày",

  bringIn: "Đưa tài liệu vào", drop: "Thả tệp vào đây", choose: "hoặc chọn tệp", dropHint: "PDF, Word, Excel, PowerPoint, HTML, Markdown, văn bản, CSV, thư điện tử và các loại khác. Chưa gửi gì trước khi bạn bấm nút.",
  from: "Hiệu lực từ", to: "Hiệu lực đến", supersedes: "Thay thế (mã ngoài)", externalId: "Mã ngoài", externalHint: "Dùng lại mã cũ sẽ tạo phiên bản mới của tài liệu đó.", oneFile: "Chỉ dùng khi đưa vào một tệp.",
  sendFiles: "Đưa vào", newVersion: "Đưa vào phiên bản mới", newVersionOf: "Phiên bản mới của “{title}”.", unset: "như trong tệp", progressOf: "Tiến độ của {name}", needsFile: "Hãy chọn tệp trước.", unchanged: "Không có gì thay đổi.", brought: "“{name}” đã được công bố.", openIt: "Mở",

  facts: "Thông tin", file: "Tệp", passages: "Đoạn", warnings: "Điều cần biết về nội dung", saveOriginal: "Tải tệp gốc", noOriginal: "Không có tệp gốc: tài liệu được gửi dưới dạng văn bản.",
  whoSees: "Ai xem được", whoWouldSee: "Khi đó ai xem được",
  seesPublic: "Mọi người trong công ty có quyền “công khai”, ở mọi phòng ban.",
  seesInternal: "Mọi người trong công ty có quyền “nội bộ”, ở mọi phòng ban.",
  seesGeneral: "Mọi người trong công ty có quyền “riêng của phòng”: phòng Chung là của tất cả mọi người.",
  seesPrivate: "Chỉ người thuộc {department} có quyền “riêng của phòng”.",
  seesAdmin: "Quản trị viên quản lý tài liệu này tại đây dù phạm vi nào; câu hỏi của họ chỉ đọc được trong quyền của chính họ. Công ty khác không bao giờ thấy.",
  seesNow: "Câu hỏi về hôm nay dùng tài liệu này.", seesLater: "Chưa đến ngày hiệu lực: chỉ câu hỏi về những ngày từ {from} mới dùng.", seesPast: "Đã hết hiệu lực: chỉ câu hỏi về những ngày đến {to} mới dùng.",
  change: "Đổi quyền và ngày hiệu lực", save: "Lưu", saved: "Đã lưu; câu hỏi kế tiếp sẽ thấy ngay.", nothingChanged: "Chưa có gì thay đổi.",
  versions: "Các phiên bản", versionNumber: "Phiên bản {number}", current: "đang dùng", changedFields: "Thông tin", differences: "Nội dung", firstVersion: "Phiên bản đầu tiên.", sameText: "Nội dung giống bản trước.", isCut: "Những khác biệt còn lại được lược bớt.", added: "Thêm", removed: "Bỏ", empty: "trống",
  erase: "Xoá", eraseHint: "Xoá ngay mọi phiên bản, đoạn, véc-tơ và tệp gốc. Tài liệu bị nó thay thế sẽ có hiệu lực trở lại.", eraseAsk: "Xoá “{title}” cùng cả {number} phiên bản? Không thể hoàn tác.", erased: "Đã xoá “{title}”.",

  healthHint: "Những điều cần xem, nặng nhất trước.", healthy: "Không có gì cần xem.", allKinds: "Mọi loại", unsure: "độ chắc {share}",
  kind: { contradiction: "Trái nhau", duplicate: "Trùng lặp", failed: "Lỗi", partial: "Công bố một phần", empty: "Trống", expired: "Hết hiệu lực", expiring: "Sắp hết hiệu lực", old: "Đã cũ", not_compared: "Chưa so sánh" },

  conflictsHint: "Những gì các lượt hỏi của toàn công ty đã cân nhắc, mới nhất trước, chỉ bằng con số: không có câu hỏi, trích dẫn, tên hay địa chỉ.", noConflicts: "Chưa có lượt hỏi nào gặp mâu thuẫn.",
  when: "Lúc", type: "Loại", winner: "Thứ nhất", loser: "Thứ hai", margin: "Chênh", threshold: "Ngưỡng", decision: "Kết quả", decided: "chọn một", undecided: "nêu cả hai",
  ruleName: { weighted_scoring: "theo điểm", later_version: "bản mới hơn", validity: "hiệu lực", starts_later: "chưa có hiệu lực", verdict: "quyết định" }, weighAgain: "Cân lại", weighHint: "Các trọng số tính theo tỉ lệ với tổng. Không lưu gì và không hỏi mô hình nào.",
  weightOf: "Trọng số {factor}", before: "Trong lượt hỏi", after: "Với trọng số này", winnerChanged: "Nguồn kia đứng trước.", winnerSame: "Vẫn nguồn ấy đứng trước.", asInRun: "Như trong lượt hỏi", noWeight: "Ít nhất một trọng số phải lớn hơn không.",
  notYours: "Lượt này do người khác hỏi. Chỉ người hỏi mới cân lại được, vì kết quả cho thấy câu hỏi và trích dẫn; trang này chỉ hiện con số.", leftOut: "Không cân lại được: một nguồn đã bị xoá hoặc bạn không có quyền đọc.", ruleStands: "Điều này do quy tắc quyết định, không do điểm: trọng số khác không làm thay đổi.", side: "Nguồn", score: "Điểm",

  performanceHint: "Mọi lượt hỏi của công ty kết thúc trong khoảng này.", period: "Khoảng", lastDay: "1 ngày", lastWeek: "7 ngày", lastMonth: "30 ngày", lastQuarter: "90 ngày", runs: "Lượt hỏi", runTime: "Thời gian trung bình một lượt", conflictTime: "Thời gian trung bình đối chiếu nguồn", cacheRatio: "Trúng bộ nhớ đệm",
  agentTimes: "Thời gian trung bình của tác tử", toolCalls: "Số lần gọi công cụ", toolTimes: "Thời gian trung bình của công cụ", quality: "Nguồn (thường gặp nhất)", agent: "Tác tử", completeness: "Độ đầy đủ", recency: "Độ mới", domainMatch: "Chuyên môn", noRuns: "Không có lượt hỏi nào kết thúc trong khoảng này.", nothing: "Không có gì trong khoảng này.", calls: "{number} lần",
  completenessName: { comprehensive: "đầy đủ", partial_with_context: "một phần, có ngữ cảnh", partial: "một phần", none: "không có" }, recencyName: { within_30_days: "≤ 30 ngày", within_90_days: "≤ 90 ngày", older: "cũ hơn", unknown: "không rõ" }, matchName: { perfect: "đúng", general: "chung", none: "không" },

  agentsHint: "Mọi tác tử cùng tệp tạo ra nó, đọc lúc dịch vụ khởi động, và những lỗi của các bước.", reads: "Đọc", tools: "Công cụ",

  wholeRuns: "cả lượt", tasksHint: "Câu hỏi và tài liệu của mọi người, mới nhất trước, đúng như lúc này. Chỉ có số liệu: điều một người hỏi và được trả lời là của riêng người đó.", taskCount: "Đang hiện {number}", noTasks: "Không có công việc nào phù hợp.",
  asker: "Người hỏi", taskKind: "Loại", work: "Thời gian", ended: "Kết quả", actions: "Thao tác", stopIt: "Dừng", retryIt: "Chạy lại", lost: "máy chạy im lặng", tokenOnly: "Chỉ biết qua mã truy cập: không có ai mang mã này trong danh sách.",
  kindName: { chat: "Câu hỏi", ingest: "Tài liệu", step: "Bước" }, modeName: { auto: "tự động", department: "phòng ban", deep: "nghĩ sâu", null: "" }, waitsFor: { approval: "chờ duyệt" },
  queueName: { chat: "Câu hỏi", ingest: "Tài liệu" }, queueOf: "Hàng đợi: {name}", waitingNow: "đang chờ", withWorkers: "đang chạy", oldestWaits: "lâu nhất {time}", nobodyWaits: "không ai phải chờ", attemptNumber: "lần thử {number}", stepsDone: "{done} / {number} bước",
  stopAsk: "Dừng công việc này của {user}? Người hỏi sẽ được báo là quản trị viên đã dừng.", stopDone: "Đã dừng.", retryAsk: "Chạy lại việc này cho {user}? Việc chạy với đúng quyền lúc hỏi mà {user} còn giữ, không bao giờ với quyền của bạn; câu trả lời nằm trong cuộc trò chuyện ấy.", retryDone: "Đã đăng ký chạy lại.",
  registered: "Đăng ký", endedAt: "Kết thúc", deadline: "Hạn chót", attempt: "Lần thử", holder: "Máy giữ", lease: "Giữ đến", steps: "Bước", task: "Công việc", ofTask: "Bước của", session: "Cuộc trò chuyện",
  figuresOnly: "Câu hỏi, kế hoạch, câu trả lời và bằng chứng không hiện ở đây: chúng là của người hỏi.",

  usageHint: "Những gì cả công ty đã hỏi mô hình ngôn ngữ. Ai hỏi bao nhiêu, không bao giờ là hỏi gì. Ngày tính theo UTC.", measure: "Biểu đồ", measureName: { tokens: "Token", runs: "Lượt hỏi", cost: "Chi phí" }, modelCalls: "Lần gọi mô hình", tokensIn: "Token đọc vào", tokensOut: "Token viết ra", tokensOpen: "và {number} đang giữ chỗ", cost: "Chi phí",
  failedRuns: "{number} lượt lỗi", inCurrency: "theo đồng tiền của bạn", noPrice: "chưa rõ: chưa đặt giá", noPriceHint: "Muốn thấy chi phí, hãy đặt giá một triệu token: CONCLAVE_LLM_PROMPT_PRICE và CONCLAVE_LLM_COMPLETION_PRICE. Những lần gọi trước đó không có giá.", noModel: "Trong khoảng này không có mô hình ngôn ngữ nào được hỏi: bộ luật tự trả lời và không tốn token.",
  byDay: "{measure} theo ngày", byUser: "Theo người", asTable: "Xem dạng bảng", day: "Ngày", endedWell: "Xong, hoặc đang chạy", failedOnes: "Lỗi", furtherUsers: "và {number} người khác",

  evaluationsHint: "Những gì “conclave eval run” để lại trên máy này, mới nhất trước. Câu hỏi và câu trả lời nằm trong thư mục của từng lần.", noEvaluations: "Chưa có lần đánh giá nào được giữ lại. Trên máy chạy dịch vụ:",
  runFacts: "{number} câu hỏi từ {datasets} · phiên bản {version}", noGates: "không đặt ngưỡng", gatesHold: "{number} ngưỡng đạt", gatesBroken: "{number} ngưỡng không đạt", leaks: "Rò rỉ", waitsMedian: "Chờ (trung vị)",
  rateName: { right: "Đúng", facts: "Dữ kiện", recall: "Recall@5", outcome: "Kết cục", not_found_f1: "Không tìm thấy, F1", conflict_f1: "Mâu thuẫn, F1", winner: "Nguồn thắng" },

  notYoursToAsk: "Câu hỏi của bạn không dùng được tác tử này.", isRemote: "bước chạy ở máy khác", isOwn: "của riêng nơi này", failures: "Các bước lỗi trong 30 ngày qua", noFailures: "không có lỗi", failuresCounted: "{number} lỗi", lastTime: "Gần nhất", tool: "Công cụ", errorCode: "Mã", times: "Số lần", fileOf: "Tệp {name}",
  readersCounted: "{number} trên {total} người trong danh sách đọc được:", readersHint: "Người chỉ biết qua mã truy cập không có trong danh sách; mã của họ cho biết họ được đọc gì.", readersCut: "Những người còn lại được lược bớt.", lacksScope: "thiếu quyền “{scope}”", lacksDepartment: "không thuộc {department}",

  peopleHint: "Ai được hỏi và mỗi người được đọc gì. Mọi người tự đặt mật khẩu bằng đường dẫn bạn đưa; đường dẫn chỉ hiện một lần.", peopleHintProvider: "Ai được hỏi và mỗi người được đọc gì. Mọi người đăng nhập qua hệ thống của công ty.",
  addPerson: "Thêm người", addAndInvite: "Thêm và tạo đường dẫn", personName: "Tên đăng nhập", personNameHint: "Dùng để đăng nhập: một tên hoặc địa chỉ thư điện tử. Không đổi về sau.", personShown: "Họ và tên", furtherDepartments: "Phòng ban khác", mayRead: "Được đọc", roles: "Vai trò", personAdded: "Đã thêm {name}.",
  roleName: { reader: "người đọc", owner: "người phụ trách", auditor: "kiểm toán", admin: "quản trị", service: "chương trình" }, person: "Người", accountState: "Tài khoản", doWhat: "Việc", findPerson: "Tìm người", peopleCount: "Đang hiện {number} người",
  hasPassword: "đã có mật khẩu", hasPasswordAndCodes: "mật khẩu và mã", isInvited: "đường dẫn đến {moment}", hasNone: "chưa có tài khoản", isDisabled: "đã chặn", isProgram: "chương trình", inviteLink: "Mời", newLink: "Mật khẩu mới", shutOut: "Chặn", letIn: "Cho vào lại",
  linkFor: "Đường dẫn cho {name}", linkShownOnce: "Hãy đưa cho người ấy bằng cách bạn tin cậy. Dùng được một lần, đến {moment}, và không hiện lại.", theLink: "Đường dẫn", copyLink: "Chép đường dẫn", linkCopied: "Đã chép.",

  auditHint: "Ai đã làm gì trong công ty, mới nhất trước: mã, quyền và tên trường, không bao giờ có nội dung hỏi hay trả lời.", act_: "Việc", actor: "Người làm", target: "Đối tượng", details: "Chi tiết", number: "Số", sinceDay: "Từ ngày", untilDay: "Đến hết ngày", noActs: "Không có việc nào phù hợp.", actCount: "{number} dòng đang hiện", operator: "người vận hành, hoặc không ai",
  chain: "Chuỗi nhật ký", chainHint: "Mỗi dòng mang mã băm của dòng trước. Máy chủ tính lại tất cả và nêu dòng đầu tiên bị sửa, bị xóa hay bị thêm.", chainCheck: "Kiểm tra chuỗi", chainWalks: "Đang tính lại mọi mã băm…",
  chainHolds: "Chuỗi còn nguyên ({moment}): {rows} dòng, dòng cuối là số {row}. Hãy giữ mã băm của nó ở nơi khác: chỉ có nó cho thấy cả chuỗi bị làm lại. ", chainHoldsSince: "Chuỗi còn nguyên ({moment}): {rows} dòng, dòng cuối là số {row}; {removed} dòng cũ nhất đã được xóa khi hết hạn, và nhật ký có ghi. Hãy giữ mã băm ở nơi khác: ", chainBroken: "Chuỗi không còn nguyên, đầu tiên ở dòng {row}: {problem}.",
  act: { question_asked: "Đặt câu hỏi", question_ended: "Câu hỏi kết thúc", read_task: "Đọc lượt hỏi của người khác", stop_task: "Dừng công việc", retry_task: "Chạy lại công việc", approve_plan: "Duyệt kế hoạch", refuse_plan: "Từ chối kế hoạch", signed_in: "Đăng nhập", signed_out: "Đăng xuất", invited: "Tạo đường dẫn mời", password_set: "Đặt mật khẩu", codes_on: "Bật mã xác thực", codes_off: "Tắt mã xác thực", sign_in_refused: "Từ chối đăng nhập", user_added: "Thêm người dùng", user_changed: "Đổi quyền người dùng", user_removed: "Xóa người dùng", data_erased: "Xóa dữ liệu cá nhân", key_made: "Tạo khóa", key_rotated: "Đổi khóa", key_revoked: "Thu hồi khóa", document_brought_in: "Đưa tài liệu vào", document_changed: "Đổi tài liệu", document_deleted: "Xóa tài liệu", audit_removed: "Xóa các dòng cũ nhất" },
};
