class_name Matchmaking
extends Node
## Finds somebody to play with: add it to your scene, set `server`, and call `find`.

signal proposed(match_id: String, seconds: float)  ## Answer it with accept or decline.
signal host_wanted(match_id: String)  ## You host: listen, then call host_at.
signal assigned(connection: String)  ## Connect to this address, unless you host.
signal ended(reason: String)  ## cancelled, declined, silent, deadline...

const ROUTES := {
	"guest": [HTTPClient.METHOD_POST, "/v1/guests"],
	"create": [HTTPClient.METHOD_POST, "/v1/tickets"],
	"poll": [HTTPClient.METHOD_GET, "/v1/tickets/%s?wait=25&state=%s&match=%s"],
	"cancel": [HTTPClient.METHOD_DELETE, "/v1/tickets/%s"],
	"accept": [HTTPClient.METHOD_POST, "/v1/matches/%s/accept"],
	"decline": [HTTPClient.METHOD_POST, "/v1/matches/%s/decline"],
	"match": [HTTPClient.METHOD_GET, "/v1/matches/%s"],
	"assign": [HTTPClient.METHOD_PUT, "/v1/matches/%s/assignment"],
}
const TOKEN_FILE := "user://evenmatch.token"

@export var server := "http://127.0.0.1:8080"

var player := ""
var _token := ""
var _ticket := ""


func _ready() -> void:
	get_tree().auto_accept_quit = false


func _notification(what: int) -> void:
	if what == NOTIFICATION_WM_CLOSE_REQUEST:
		await cancel()
		get_tree().quit()


## Wait for a friend who gives the same code, or for anybody if there is none.
func find(code := "") -> void:
	await _sign_in()
	var queue := "friends" if code else "anyone"
	var facts := {"connect": "open", "code": code.to_upper()}
	var body := {"queues": [queue], "players": [{"id": player}], "attributes": facts}
	var created := await _ask("create", [], body)
	_ticket = created.get("id", "")
	if not _ticket:
		ended.emit(created.get("error", "unreachable"))
	await _follow(_ticket)


func accept(match_id: String) -> void:
	await _ask("accept", [match_id], {"ticket": _ticket})


func decline(match_id: String) -> void:
	await _ask("decline", [match_id], {"ticket": _ticket})


func host_at(match_id: String, connection: String) -> void:
	await _ask("assign", [match_id], {"connection": connection})


func cancel() -> void:
	if _ticket:
		await _ask("cancel", [_ticket])


func _sign_in() -> void:  ## The same device is the same player, until its token is too old.
	if FileAccess.file_exists(TOKEN_FILE):
		_token = FileAccess.get_file_as_string(TOKEN_FILE)
	var guest := await _ask("guest")
	if not guest.has("token"):
		_token = ""
		guest = await _ask("guest")
	player = guest.get("player", "")
	_token = guest.get("token", "")
	if _token:
		FileAccess.open(TOKEN_FILE, FileAccess.WRITE).store_string(_token)


func _follow(ticket: String) -> void:
	var known := ["waiting", ""]
	while ticket and ticket == _ticket:
		var now := await _ask("poll", [ticket] + known)
		if now.get("error", "") in ["unknown_ticket", "forgotten"]:
			now = {"state": "cancelled", "reason": now["error"], "match": null}
		if not now.has("state"):
			await get_tree().create_timer(2.0).timeout
		elif now["state"] in ["cancelled", "expired"]:
			_ticket = ""
			ended.emit(now["reason"])
		elif [now["state"], now["match"] if now["match"] else ""] != known:
			known = [now["state"], now["match"] if now["match"] else ""]
			if known[0] == "proposed" and now.has("answer_within"):
				proposed.emit(now["match"], now["answer_within"])
			elif known[0] == "matched":
				var hosts: Array = (await _ask("match", [now["match"]])).get("hosts", [])
				if hosts and hosts[0] == player:
					host_wanted.emit(now["match"])
			elif known[0] == "assigned":
				_ticket = ""
				assigned.emit(now["assignment"]["connection"])


## Send one request; an empty answer means that the server was not reached.
func _ask(route: String, names := [], body := {}) -> Dictionary:
	var http := HTTPRequest.new()
	http.timeout = 40.0
	add_child(http)
	var headers := PackedStringArray(["Content-Type: application/json"])
	if _token:
		headers.append("Authorization: Bearer " + _token)
	var sent := JSON.stringify(body) if body else ""
	if http.request(server + ROUTES[route][1] % names, headers, ROUTES[route][0], sent) != OK:
		return {}
	var answer: Array = await http.request_completed
	http.queue_free()
	var found: Variant = JSON.parse_string(answer[3].get_string_from_utf8())
	return found if found is Dictionary else {}
